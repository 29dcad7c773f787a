"""Positions of candidates in their sessions, and their neighbours there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import UUID

from django.db import connection

from memories.retrieval.candidate_rows import uuid_array_literal
from memories.retrieval.scope import CandidateScope
from scoring.signals import LEVELS

LEVEL_OFFSET = 1_000_000  # keeps positions of different levels apart

SESSION_ORDER = """
    SELECT m.id, m.level, row_number() OVER (
        PARTITION BY m.session_id, m.level ORDER BY coalesce(m.happened_at, m.created_at), m.id
    )
    FROM memories_memory m
    WHERE {scope} AND m.session_id IN (
        SELECT session_id FROM memories_memory
        WHERE namespace_id = %(namespace)s AND id = ANY(%(ids)s::uuid[]) AND session_id IS NOT NULL
    )
    ORDER BY m.session_id, m.level, 3
"""


@dataclass(frozen=True)
class SessionPlaces:
    """Positions in sessions, per level, and the neighbours of candidates."""

    positions: Mapping[UUID, int] = field(default_factory=dict)
    neighbours: Sequence[UUID] = ()


def session_places(scope: CandidateScope, candidates: Collection[UUID]) -> SessionPlaces:
    """Number the memories of the candidates' sessions in order, in one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            SESSION_ORDER.format(scope=scope.condition), {**scope.values, "ids": uuid_array_literal(candidates)}
        )
        rows = cursor.fetchall()
    positions = {id: LEVELS.index(level) * LEVEL_OFFSET + place for id, level, place in rows}
    # A neighbour is the row before or after; each level of a session starts at 1.
    neighbours = [
        neighbour
        for (first, _, _), (second, _, place) in pairwise(rows)
        if place > 1
        for neighbour, candidate in ((first, second), (second, first))
        if candidate in candidates and neighbour not in candidates
    ]
    return SessionPlaces({id: positions[id] for id in {*candidates, *neighbours} if id in positions}, neighbours)
