"""Results that other memories contradict: both sides are flagged, and the outdated one is kept out of the context."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.db.pipeline import Statement, fetch_pipeline
from memories.retrieval.as_of import DATED_AS_OF
from memories.retrieval.candidate_rows import uuid_array_literal
from memories.retrieval.query import Query
from memories.retrieval.scope import CandidateScope

# The start of each memory's validity, and whether it is valid at the query's time.
VALIDITY = """
    SELECT m.id, coalesce(m.valid_from, m.happened_at, m.created_at),
        coalesce(m.valid_from, m.created_at) <= %(now)s AND coalesce(m.valid_until > %(now)s, true)
    FROM {memories} m WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s::uuid[]) AND {active}
"""


def find_conflicts(
    query: Query, ids: Sequence[UUID], contradictions: Sequence[tuple[UUID, UUID]]
) -> tuple[dict[UUID, list[UUID]], set[UUID]]:
    """The active memories that contradict each result, and the results that are outdated.

    Of two memories that contradict each other, the one valid from the later time wins, returned or not.
    """
    conflicts: dict[UUID, list[UUID]] = {}
    results = set(ids)
    pairs = [pair for pair in contradictions if not results.isdisjoint(pair)]
    if not pairs:
        return conflicts, set()
    validity = load_validity(query, {id for pair in pairs for id in pair})
    outdated = set()
    for source, target in pairs:
        for result, opposite in ((source, target), (target, source)):
            if result in results and opposite in validity:
                conflicts.setdefault(result, []).append(opposite)
                (since, valid), own = validity[opposite], validity.get(result)
                if valid and own is not None and (since, opposite) > (own[0], result):
                    outdated.add(result)
    return conflicts, outdated


def load_validity(query: Query, ids: set[UUID]) -> dict[UUID, tuple[datetime, bool]]:
    """The start of validity of each memory active at the query's time, and whether it is valid then."""
    scope = CandidateScope.for_query(query)
    sql = VALIDITY.format(memories=DATED_AS_OF if query.as_of else "memories_memory", active=scope.active)
    values = {**scope.values, "ids": uuid_array_literal(ids), "now": query.now}
    [rows] = fetch_pipeline([Statement(sql, values)])
    return {id: (since, valid) for id, since, valid in rows}
