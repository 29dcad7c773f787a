"""Memories that contradict each other: both are shown, and only the current one is handed to an agent."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.models import MemoryEdge, Namespace
from memories.models.choices import EdgeKind, Status


def conflicts(namespace: Namespace, ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """For each of some memories the active ones that contradict it."""
    found: dict[UUID, list[UUID]] = {}
    edges = MemoryEdge.objects.within(namespace).filter(
        Q(source_id__in=ids) | Q(target_id__in=ids),
        kind=EdgeKind.CONTRADICTION,
        source__status=Status.ACTIVE,
        target__status=Status.ACTIVE,
    )
    wanted = set(ids)
    for source, target in edges.order_by("id").values_list("source_id", "target_id"):
        for one, other in ((source, target), (target, source)):
            if one in wanted:
                found.setdefault(one, []).append(other)
    return found


def outdated(rows: Sequence[Mapping[str, Any]], against: Mapping[UUID, Sequence[UUID]]) -> set[UUID]:
    """Of memories that contradict each other all but the latest: what holds since later is what holds."""
    since = {row["id"]: (row["valid_from"] or row["happened_at"] or row["created_at"], row["id"]) for row in rows}
    return {
        id
        for id, others in against.items()
        if id in since and any(other in since and since[other] > since[id] for other in others)
    }
