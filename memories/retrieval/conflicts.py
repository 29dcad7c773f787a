"""Memories that contradict each other: both are shown, and only the current one is handed to an agent."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.models import Memory, MemoryEdge
from memories.models.choices import EdgeKind, Status
from memories.models.keys import NamespacedQuerySet
from memories.retrieval.past import Past
from memories.retrieval.query import Query


def conflicts(query: Query, ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """For each of some memories those that contradict it, active at the moment asked about."""
    found: dict[UUID, list[UUID]] = {}
    edges = MemoryEdge.objects.within(query.namespace).filter(
        Q(source_id__in=ids) | Q(target_id__in=ids), kind=EdgeKind.CONTRADICTION, created_at__lte=query.now
    )
    wanted, hidden = set(ids), hidden_ends(query, edges)
    for source, target in edges.order_by("id").values_list("source_id", "target_id"):
        for one, other in ((source, target), (target, source)):
            if one in wanted and other not in hidden:
                found.setdefault(one, []).append(other)
    return found


def hidden_ends(query: Query, edges: NamespacedQuerySet[MemoryEdge]) -> set[UUID]:
    """The ends of some edges that were not active at the moment asked about."""
    ends = {id for pair in edges.values_list("source_id", "target_id") for id in pair}
    stored = Memory.objects.within(query.namespace).filter(id__in=ends).exclude(status=Status.ACTIVE)
    hidden = set(stored.values_list("id", flat=True)) if ends else set()
    if query.as_of is None or not ends:
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
