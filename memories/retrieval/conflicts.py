"""Memories that contradict each other: both are shown, and only the current one is handed to an agent."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.db.pipeline import Statement, fetch_pipeline
from memories.retrieval.as_of import DATED_AS_OF
from memories.retrieval.candidate_sql import uuid_array_literal
from memories.retrieval.query import Query
from memories.retrieval.scope import CandidateScope

# Since when each holds, and whether it does at the moment asked about.
VALIDITY = """
    SELECT m.id, coalesce(m.valid_from, m.happened_at, m.created_at),
        coalesce(m.valid_from, m.created_at) <= %(now)s AND coalesce(m.valid_until > %(now)s, true)
    FROM {memories} m WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s::uuid[]) AND {standing}
"""


def find_conflicts(
    query: Query, ids: Sequence[UUID], pairs: Sequence[tuple[UUID, UUID]]
) -> tuple[dict[UUID, list[UUID]], set[UUID]]:
    """For each of some memories those that contradict it, active at the moment asked about; and who is outdated.

    Of all pairs that contradict each other, those count that hold one of the memories. What holds since later is what
    holds, whether it came back or not.
    """
    found: dict[UUID, list[UUID]] = {}
    wanted = set(ids)
    edges = [pair for pair in pairs if not wanted.isdisjoint(pair)]
    if not edges:
        return found, set()
    sides = validity_of(query, {id for pair in edges for id in pair})
    outdated = set()
    for source, target in edges:
        for one, other in ((source, target), (target, source)):
            if one in wanted and other in sides:
                found.setdefault(one, []).append(other)
                (since, holds), mine = sides[other], sides.get(one)
                if holds and mine is not None and (since, other) > (mine[0], one):
                    outdated.add(one)
    return found, outdated


def validity_of(query: Query, ends: set[UUID]) -> dict[UUID, tuple[datetime, bool]]:
    """Of some memories those that were active at the moment asked about: since when each holds, and whether it does."""
    scope = CandidateScope.for_query(query)
    sql = VALIDITY.format(memories=DATED_AS_OF if query.as_of else "memories_memory", standing=scope.active)
    values = {**scope.values, "ids": uuid_array_literal(ends), "now": query.now}
    [rows] = fetch_pipeline([Statement(sql, values)])
    return {id: (since, holds) for id, since, holds in rows}
