"""Where memories were said, how directly and as what: by themselves, and by all that they absorbed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db import connection

from memories.models import Namespace, Turn
from memories.writing.new_memory import NewMemory, Said
from scoring.policy import WritePolicy

Place: TypeAlias = tuple[UUID | None, UUID | None, str]
# An observation is told apart by its session, or by its source where there is no session.
Origin: TypeAlias = tuple[UUID | None, str]
# What counts for a memory by an edge, with the sources it had when it began to.
BACKERS = """
    SELECT e.target_id, s.session_id, s.source
    FROM memories_memoryedge e
    JOIN memories_scoreevent v ON v.namespace_id = e.namespace_id AND v.memory_id = e.target_id
        AND v.other_id = e.source_id AND v.cause = 'corroborated'
    JOIN memories_memorysource s ON s.namespace_id = e.namespace_id AND s.memory_id = e.source_id AND s.id < v.id
    WHERE e.namespace_id = %(namespace)s AND e.target_id = ANY(%(ids)s) AND e.kind = 'supports'
"""

Observation: TypeAlias = tuple[Said, Origin]


class Told(NamedTuple):
    """The levels at which a memory was told, and the types as which; an uncertain type is empty."""

    levels: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


def place_of(row: Any) -> Place:
    """What makes a source of a memory one: its turn, else its session and name."""
    return (None, row.turn_id, "") if row.turn_id else (row.session_id, None, row.source)


def observations(
    namespace: Namespace, news: Sequence[NewMemory], sessions: Mapping[tuple[str, str], UUID], policy: WritePolicy
) -> list[list[Observation]]:
    """What says each memory, and from where: a turn from its own session, all else from that of the memory."""
    turns = {said.turn for new in news for said in new.said if said.turn}
    rows = Turn.objects.within(namespace).filter(id__in=turns).values_list("id", "session_id") if turns else ()
    homes = dict(rows)

    def origin(new: NewMemory, said: Said) -> Origin:
        own = sessions.get((new.user, new.session))
        return homes.get(said.turn, own) if said.turn else own, new.source

    def leveled(said: Said) -> Said:
        return said if said.level else replace(said, level=policy.source_default)

    return [[(leveled(said), origin(new, said)) for said in new.said or (Said(""),)] for new in news]


def heard_by(which: str) -> str:
    """The question for the levels and types of memories: `which` chooses among `m`."""
    type = "CASE WHEN m.type_uncertain THEN '' ELSE m.type END::text AS type"
    return f"""
        WITH RECURSIVE family AS (
            SELECT m.id AS head, m.id AS member, {type} FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND {which}
            UNION ALL
            SELECT family.head, m.id, {type} FROM family
            JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.merged_into_id = family.member
        )
        SELECT family.head AS memory_id, array_agg(DISTINCT family.type ORDER BY family.type) AS types,
            array_remove(array_agg(DISTINCT s.level ORDER BY s.level), NULL)::text[] AS levels
        FROM family LEFT JOIN memories_memorysource s ON s.namespace_id = %(namespace)s AND s.memory_id = family.member
        GROUP BY family.head
    """


def told_of(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, Told]:
    """How each memory was told."""
    with connection.cursor() as cursor:
        cursor.execute(heard_by("m.id = ANY(%(ids)s)"), {"namespace": namespace.id, "ids": list(ids)})
        return {memory: Told(frozenset(levels), frozenset(types)) for memory, types, levels in cursor.fetchall()}


def backers_of(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, set[Origin]]:
    """The sessions and sources that count for memories in the words of others."""
    found: dict[UUID, set[Origin]] = {}
    with connection.cursor() as cursor:
        cursor.execute(BACKERS, {"namespace": namespace.id, "ids": list(ids)})
        for memory, session, source in cursor.fetchall():
            found.setdefault(memory, set()).add((session, source))
    return found
