"""Memories that contradict each other: both are shown, and only the current one is handed to an agent."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.journey import Statement, answered
from memories.retrieval.facts import literal
from memories.retrieval.past import DATED_THEN
from memories.retrieval.query import Query
from memories.retrieval.scope import Scope

# Since when each holds, and whether it does at the moment asked about.
SIDES = """
    SELECT m.id, coalesce(m.valid_from, m.happened_at, m.created_at),
        coalesce(m.valid_from, m.created_at) <= %(now)s AND coalesce(m.valid_until > %(now)s, true)
    FROM {memories} m WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s::uuid[]) AND {standing}
"""


def conflicts(
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
    sides = sides_of(query, {id for pair in edges for id in pair})
    outdated = set()
    for source, target in edges:
        for one, other in ((source, target), (target, source)):
            if one in wanted and other in sides:
                found.setdefault(one, []).append(other)
                (since, holds), mine = sides[other], sides.get(one)
                if holds and mine is not None and (since, other) > (mine[0], one):
                    outdated.add(one)
    return found, outdated


def sides_of(query: Query, ends: set[UUID]) -> dict[UUID, tuple[datetime, bool]]:
    """Of some memories those that were active at the moment asked about: since when each holds, and whether it does."""
    scope = Scope.of(query)
    sql = SIDES.format(memories=DATED_THEN if query.as_of else "memories_memory", standing=scope.standing)
    values = {**scope.values, "ids": literal(ends), "now": query.now}
    [rows] = answered([Statement(sql, values)])
    return {id: (since, holds) for id, since, holds in rows}
