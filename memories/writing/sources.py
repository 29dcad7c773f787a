"""Where memories were said, and how directly: by their own sources, and by those of all that they absorbed."""

from collections.abc import Collection
from typing import Any, TypeAlias
from uuid import UUID

from django.db import connection

from memories.models import Namespace

Place: TypeAlias = tuple[UUID | None, UUID | None, str]


def place_of(row: Any) -> Place:
    """What makes a source of a memory one: its turn, else its session and name."""
    return (None, row.turn_id, "") if row.turn_id else (row.session_id, None, row.source)


def heard_by(which: str) -> str:
    """The question for the levels of memories: `which` chooses among `m`."""
    return f"""
        WITH RECURSIVE family AS (
            SELECT m.id AS head, m.id AS member FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND {which}
            UNION ALL
            SELECT family.head, m.id FROM family
            JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.merged_into_id = family.member
        )
        SELECT family.head AS memory_id, array_agg(DISTINCT s.level ORDER BY s.level)::text[] AS levels
        FROM family JOIN memories_memorysource s ON s.namespace_id = %(namespace)s AND s.memory_id = family.member
        GROUP BY family.head
    """


def levels_of(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, frozenset[str]]:
    """The levels of each memory's sources; one without sources is left out."""
    with connection.cursor() as cursor:
        cursor.execute(heard_by("m.id = ANY(%(ids)s)"), {"namespace": namespace.id, "ids": list(ids)})
        return {memory: frozenset(levels) for memory, levels in cursor.fetchall()}
