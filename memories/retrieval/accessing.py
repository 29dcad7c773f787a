"""That memories were given to an agent: counted once for each session, and never while exploring."""

import logging
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from memories.retrieval.query import Query

logger = logging.getLogger(__name__)

LONGEST_WAIT = 2.0  # seconds that a count waits for whoever changes the same memories
PAUSE = 0.01  # seconds

# The first return in a session is the one that counts.
RETURNS = """
    INSERT INTO memories_sessionreturn (namespace_id, "user", session, memory_id, returned_at)
    SELECT %(namespace)s, %(user)s, %(session)s, m.id, %(now)s FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s) ORDER BY m.id
    ON CONFLICT DO NOTHING RETURNING memory_id
"""
# Who waits for nobody while holding something cannot be part of a deadlock.
COUNT = """
    WITH free AS (
        SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s)
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ),
    days AS (
        INSERT INTO memories_dailyaccess AS known (namespace_id, memory_id, day, count)
        SELECT %(namespace)s, id, %(day)s, 1 FROM free
        ON CONFLICT (namespace_id, memory_id, day) DO UPDATE SET count = known.count + excluded.count
    )
    UPDATE memories_memory m SET access_count = access_count + 1, last_accessed_at = %(now)s
    FROM free WHERE m.namespace_id = %(namespace)s AND m.id = free.id RETURNING m.id
"""


def record(query: Query, ids: Sequence[UUID]) -> None:
    """Count one access of each memory, unless the session has had it before."""
    if not ids:
        return
    now = query.namespace.now
    values: dict[str, Any] = {"namespace": query.namespace.id, "user": query.user, "session": query.session, "now": now}
    values["day"] = now.date()
    left = returned_first(values, ids) if query.session else list(ids)
    until = time.monotonic() + LONGEST_WAIT
    while left := counted(values, left):
        if time.monotonic() > until:
            logger.warning("%s accesses were not counted: the memories are being changed", len(left))
            return
        time.sleep(PAUSE)


def returned_first(values: dict[str, Any], ids: Sequence[UUID]) -> list[UUID]:
    """Note what a session was given; give what it had not been given before."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(RETURNS, {**values, "ids": list(ids)})
        return [memory for (memory,) in cursor.fetchall()]


def counted(values: dict[str, Any], ids: Sequence[UUID]) -> list[UUID]:
    """Count what nobody else is changing right now; give the rest."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(COUNT, {**values, "ids": list(ids)})
        done = {memory for (memory,) in cursor.fetchall()}
        if done == set(ids):
            return []
        cursor.execute(
            "SELECT id FROM memories_memory WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s)",
            {**values, "ids": [id for id in ids if id not in done]},
        )
        return [memory for (memory,) in cursor.fetchall()]
