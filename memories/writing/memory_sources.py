"""Sources of memories: where they were stated, at which level and type, including what was merged into them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db import connection

from memories.models import Namespace, Turn
from memories.writing.new_memory import NewMemory, Utterance
from scoring.policy import WritePolicyParams

SourceKey: TypeAlias = tuple[UUID | None, UUID | None, str]
# Observations are distinguished by session, or by source if there is no session.
Origin: TypeAlias = tuple[UUID | None, str]
# Sources that supporting memories had when they began to corroborate.
CORROBORATION_SQL = """
    SELECT e.target_id, s.session_id, s.source
    FROM memories_memoryedge e
    JOIN memories_scoreevent v ON v.namespace_id = e.namespace_id AND v.memory_id = e.target_id
        AND v.other_id = e.source_id AND v.cause = 'corroborated'
    JOIN memories_memorysource s ON s.namespace_id = e.namespace_id AND s.memory_id = e.source_id AND s.id < v.id
    WHERE e.namespace_id = %(namespace)s AND e.target_id = ANY(%(ids)s) AND e.kind = 'supports'
"""

Observation: TypeAlias = tuple[Utterance, Origin]


class SourceSummary(NamedTuple):
    """The source levels and types of a memory; an uncertain type is empty."""

    levels: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


def source_key(row: Any) -> SourceKey:
    """The unique key of a source: its turn, else its session and name."""
    return (None, row.turn_id, "") if row.turn_id else (row.session_id, None, row.source)


def observations(
    namespace: Namespace,
    new_memories: Sequence[NewMemory],
    sessions: Mapping[tuple[str, str], UUID],
    policy: WritePolicyParams,
) -> list[list[Observation]]:
    """The utterances of each memory and their origins: a turn's own session, otherwise the memory's."""
    turns = {utterance.turn for new in new_memories for utterance in new.utterances if utterance.turn}
    rows = Turn.objects.within(namespace).filter(id__in=turns).values_list("id", "session_id") if turns else ()
    session_of = dict(rows)

    def origin_of(new: NewMemory, utterance: Utterance) -> Origin:
        own_session = sessions.get((new.user, new.session))
        return session_of.get(utterance.turn, own_session) if utterance.turn else own_session, new.source

    def with_level(utterance: Utterance) -> Utterance:
        return utterance if utterance.level else replace(utterance, level=policy.source_default)

    return [
        [(with_level(utterance), origin_of(new, utterance)) for utterance in new.utterances or (Utterance(""),)]
        for new in new_memories
    ]


def source_summary_sql(condition: str) -> str:
    """SQL for the levels and types of memories; `condition` selects among `m`."""
    type = "CASE WHEN m.type_uncertain THEN '' ELSE m.type END::text AS type"
    return f"""
        WITH RECURSIVE family AS (
            SELECT m.id AS head, m.id AS member, {type} FROM memories_memory m
            WHERE m.namespace_id = %(namespace)s AND {condition}
            UNION ALL
            SELECT family.head, m.id, {type} FROM family
            JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.merged_into_id = family.member
        )
        SELECT family.head AS memory_id, array_agg(DISTINCT family.type ORDER BY family.type) AS types,
            array_remove(array_agg(DISTINCT s.level ORDER BY s.level), NULL)::text[] AS levels
        FROM family LEFT JOIN memories_memorysource s ON s.namespace_id = %(namespace)s AND s.memory_id = family.member
        GROUP BY family.head
    """


def source_summaries(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, SourceSummary]:
    """The source levels and types of memories."""
    with connection.cursor() as cursor:
        cursor.execute(source_summary_sql("m.id = ANY(%(ids)s)"), {"namespace": namespace.id, "ids": list(ids)})
        return {
            memory: SourceSummary(frozenset(levels), frozenset(types)) for memory, types, levels in cursor.fetchall()
        }


def corroborating_origins(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, set[Origin]]:
    """The origins that corroborate memories through supporting memories."""
    origins: dict[UUID, set[Origin]] = {}
    with connection.cursor() as cursor:
        cursor.execute(CORROBORATION_SQL, {"namespace": namespace.id, "ids": list(ids)})
        for memory, session, source in cursor.fetchall():
            origins.setdefault(memory, set()).add((session, source))
    return origins
