"""Access counts of returned memories: once per session, and never from the dashboard."""

import logging
import time
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from memories.db.pipeline import Statement, fetch_pipeline
from memories.retrieval.query import Query

logger = logging.getLogger(__name__)

MAX_WAIT = 10.0  # seconds to wait for locks on the memories
RETRY_INTERVAL = 0.01  # seconds

# SKIP LOCKED avoids deadlocks: a memory locked by another transaction is counted by a later attempt.
COUNT = """
    WITH free AS (
        SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[])
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ),
    counted AS ({counted}),
    days AS (
        INSERT INTO memories_dailyaccess AS stored (namespace_id, memory_id, day, count)
        SELECT %(namespace)s, id, %(day)s, 1 FROM counted
        ON CONFLICT (namespace_id, memory_id, day) DO UPDATE SET count = stored.count + excluded.count
    ),
    updated AS (
        UPDATE memories_memory m SET access_count = access_count + 1, last_accessed_at = %(now)s
        FROM counted WHERE m.namespace_id = %(namespace)s AND m.id = counted.id
    )
    SELECT id FROM free
"""
# Without a session every access counts; within one, the first.
EVERY_RETURN = "SELECT id FROM free"
FIRST_RETURN = """
    INSERT INTO memories_sessionreturn (namespace_id, "user", session, memory_id, returned_at)
    SELECT %(namespace)s, %(user)s, %(session)s, id, %(now)s FROM free
    ON CONFLICT DO NOTHING RETURNING memory_id AS id
"""
STILL_STORED = "SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[])"


def record_access(query: Query, ids: Iterable[UUID]) -> None:
    """Count one access of each memory, once per session."""
    now = query.namespace.now
    values: dict[str, Any] = {"namespace": query.namespace.id, "user": query.user, "session": query.session}
    values |= {"now": now, "day": now.date()}
    statement = COUNT.format(counted=FIRST_RETURN if query.session else EVERY_RETURN)
    remaining, deadline = set(ids), time.monotonic() + MAX_WAIT
    while remaining := count_accesses(statement, values, remaining):
        if time.monotonic() > deadline:
            logger.warning("%s accesses were not counted: the memories are locked", len(remaining))
            return
        time.sleep(RETRY_INTERVAL)


def count_accesses(statement: str, values: dict[str, Any], ids: set[UUID]) -> set[UUID]:
    """Count the memories that are not locked; return the locked ones that still exist."""
    if not ids:
        return ids
    [counted] = fetch_pipeline([Statement(statement, {**values, "ids": list(ids)})])
    locked = ids - {memory for (memory,) in counted}
    if not locked:
        return locked
    [stored] = fetch_pipeline([Statement(STILL_STORED, {**values, "ids": list(locked)})])
    return {memory for (memory,) in stored}
