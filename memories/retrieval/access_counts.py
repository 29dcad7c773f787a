"""That memories were given to an agent: counted once for each session, and never while exploring."""

import logging
import time
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memories.retrieval.query import Query

logger = logging.getLogger(__name__)

LONGEST_WAIT = 10.0  # seconds that a count waits for whoever changes the same memories
PAUSE = 0.01  # seconds

# Who waits for nobody while holding something cannot be part of a deadlock: what somebody else holds is left for later.
COUNT = """
    WITH free AS (
        SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s)
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ),
    counted AS ({counted}),
    days AS (
        INSERT INTO memories_dailyaccess AS known (namespace_id, memory_id, day, count)
        SELECT %(namespace)s, id, %(day)s, 1 FROM counted
        ON CONFLICT (namespace_id, memory_id, day) DO UPDATE SET count = known.count + excluded.count
    ),
    moved AS (
        UPDATE memories_memory m SET access_count = access_count + 1, last_accessed_at = %(now)s
        FROM counted WHERE m.namespace_id = %(namespace)s AND m.id = counted.id
    )
    SELECT id FROM free
"""
# Without a session every answer counts; in one the first return does.
EVERY_RETURN = "SELECT id FROM free"
FIRST_RETURN = """
    INSERT INTO memories_sessionreturn (namespace_id, "user", session, memory_id, returned_at)
    SELECT %(namespace)s, %(user)s, %(session)s, id, %(now)s FROM free
    ON CONFLICT DO NOTHING RETURNING memory_id AS id
"""
STILL_STORED = "SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s)"


def record_access(query: Query, ids: Iterable[UUID]) -> None:
    """Count one access of each memory, unless the session has had it before."""
    now = query.namespace.now
    values: dict[str, Any] = {"namespace": query.namespace.id, "user": query.user, "session": query.session}
    values |= {"now": now, "day": now.date()}
    statement = COUNT.format(counted=FIRST_RETURN if query.session else EVERY_RETURN)
    left, until = set(ids), time.monotonic() + LONGEST_WAIT
    while left := count_accesses(statement, values, left):
        if time.monotonic() > until:
            logger.warning("%s accesses were not counted: the memories are being changed", len(left))
            return
        time.sleep(PAUSE)


def count_accesses(statement: str, values: dict[str, Any], ids: set[UUID]) -> set[UUID]:
    """Count what nobody else is changing right now; give what is left and still there."""
    if not ids:
        return ids
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, {**values, "ids": list(ids)})
        left = ids - {memory for (memory,) in cursor.fetchall()}
    if not left:
        return left
    with connection.cursor() as cursor:
        cursor.execute(STILL_STORED, {**values, "ids": list(left)})
        return {memory for (memory,) in cursor.fetchall()}
