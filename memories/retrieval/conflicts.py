"""Memories that contradict each other: both are shown, and only the current one is handed to an agent."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from memories.journey import Statement, answered
from memories.models import Memory
from memories.models.choices import EdgeKind, Status
from memories.retrieval.facts import literal
from memories.retrieval.past import Past
from memories.retrieval.query import Query

CONTRADICTIONS = f"""
    SELECT e.source_id, e.target_id FROM memories_memoryedge e
    WHERE e.namespace_id = %(namespace)s AND e.kind = '{EdgeKind.CONTRADICTION}' AND e.created_at <= %(now)s
        AND (e.source_id = ANY(%(ids)s::uuid[]) OR e.target_id = ANY(%(ids)s::uuid[]))
    ORDER BY e.id
"""


def conflicts(query: Query, ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """For each of some memories those that contradict it, active at the moment asked about."""
    found: dict[UUID, list[UUID]] = {}
    values = {"namespace": query.namespace.id, "ids": literal(ids), "now": query.now}
    [edges] = answered([Statement(CONTRADICTIONS, values)]) if ids else [[]]
    if not edges:
        return found
    wanted, hidden = set(ids), hidden_among(query, {id for pair in edges for id in pair})
    for source, target in edges:
        for one, other in ((source, target), (target, source)):
            if one in wanted and other not in hidden:
                found.setdefault(one, []).append(other)
    return found


def hidden_among(query: Query, ends: set[UUID]) -> set[UUID]:
    """Of some memories those that were not active at the moment asked about."""
    stored = Memory.objects.within(query.namespace).filter(id__in=ends).exclude(status=Status.ACTIVE)
    hidden = set(stored.values_list("id", flat=True))
    if query.as_of is None:
        return hidden
    past = Past.of(query.namespace, query.as_of)
    return (hidden - set(past.gone)) | (ends & set(past.back))


def outdated(rows: Sequence[Mapping[str, Any]], against: Mapping[UUID, Sequence[UUID]]) -> set[UUID]:
    """Of memories that contradict each other all but the latest: what holds since later is what holds."""
    since = {row["id"]: (row["valid_from"] or row["happened_at"] or row["created_at"], row["id"]) for row in rows}
    return {
        id
        for id, others in against.items()
        if id in since and any(other in since and since[other] > since[id] for other in others)
    }
