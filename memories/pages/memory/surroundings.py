"""What lies around a memory: where it was said, what it is near to, and what it is joined with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Q

from memories.api.memories import visible_statuses
from memories.models import (
    DailyAccess,
    EntityEdge,
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryVector,
    Mention,
    ReviewItem,
)
from memories.models.choices import EdgeKind, Route, Verdict
from memories.web.roles import Access
from memories.writing.comparison import conflict_reasons
from memories.writing.neighbours import nearest_memories
from scoring.dedup import Band, similarity_band
from scoring.policy import WritePolicyParams

MAX_ROWS = 50  # edges, sources, days that are shown


@dataclass(frozen=True)
class Near:
    """A neighbour: how near, in which band, what became of the two, and why."""

    memory: Memory
    cosine: float
    band: Band
    outcome: str
    chip: str
    because: str


OUTCOMES = {
    EdgeKind.CONTRADICTION: ("conflict", "bad"),
    EdgeKind.SUPPORTS: ("supports", "good"),
    Verdict.PENDING: ("to review", "mark"),
    Verdict.DISTINCT: ("distinct", "good"),
    Verdict.DUPLICATE: ("duplicate", "on"),
}


def neighbours(access: Access, memory: Memory, policy: WritePolicyParams, edges: list[MemoryEdge]) -> list[Near] | None:
    """The active facts nearest by the vector of the full text, nearest first; none where it has no vector."""
    vectors = MemoryVector.objects.within(access.namespace).filter(
        memory_id=memory.id, route=Route.FULL, embedder=access.namespace.embedder
    )
    stored = vectors.values_list("vector", flat=True).first()
    if stored is None:
        return None
    with transaction.atomic():
        (found,) = nearest_memories(access.namespace, np.array([stored], dtype=float), min_cosine=-1.0)
    cosines = {one.memory: one.cosine for one in found if one.memory != memory.id}
    rows = {row.id: row for row in Memory.objects.within(access.namespace).filter(id__in=cosines)}
    joined = {edge.target_id if edge.source_id == memory.id else edge.source_id: edge.kind for edge in edges}
    pairs = ReviewItem.objects.within(access.namespace).filter(Q(first_id=memory.id) | Q(second_id=memory.id))
    reviews = {one.second_id if one.first_id == memory.id else one.first_id: one for one in pairs[:MAX_ROWS]}
    return [
        near(memory, rows[id], cosine, policy, joined.get(id, ""), reviews.get(id))
        for id, cosine in cosines.items()
        if id in rows
    ]


def near(
    memory: Memory, other: Memory, cosine: float, policy: WritePolicyParams, kind: str, review: ReviewItem | None
) -> Near:
    """One neighbour and what is known of the two."""
    where = similarity_band(cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)
    reasons = conflict_reasons(memory, other)
    if kind:
        outcome, chip = OUTCOMES.get(EdgeKind(kind), (kind.replace("_", " "), ""))
        because = ", ".join(reasons) if reasons and kind == EdgeKind.CONTRADICTION else "an edge joins them"
    elif review:
        outcome, chip = OUTCOMES.get(Verdict(review.state), (review.state, ""))
        because = review.reason or ("waits for you" if review.state == Verdict.PENDING else "decided")
    else:
        outcome, chip = "distinct", ""
        because = ", ".join(reasons) if where != "distinct" else ""
    return Near(other, cosine, where, outcome, chip, because)


@dataclass(frozen=True)
class Surroundings:
    """What a memory names, and what it is joined with."""

    entities: list[Mention]
    relations: list[EntityEdge]
    edges: list[MemoryEdge]
    others: Mapping[UUID, Memory]

    @property
    def joined(self) -> list[tuple[MemoryEdge, Memory, bool]]:
        """Each edge with the memory at its other end, and whether it leads there."""
        ends = ((edge, self.others.get(edge.target_id), self.others.get(edge.source_id)) for edge in self.edges)
        return [(edge, there or here, there is not None) for edge, there, here in ends if there or here]  # type: ignore[misc]

    def __bool__(self) -> bool:
        return bool(self.entities or self.edges)


def surroundings(access: Access, memory: Memory) -> Surroundings:
    """The graph one step around a memory, in four questions."""
    namespace = access.namespace
    mentions = list(
        Mention.objects.within(namespace).filter(memory_id=memory.id).select_related("entity").order_by("id")[:MAX_ROWS]
    )
    named = [one.entity_id for one in mentions]
    relations = EntityEdge.objects.within(namespace).filter(
        Q(memory_id=memory.id) | Q(source_id__in=named, target_id__in=named)
    )
    edges = MemoryEdge.objects.within(namespace).filter(Q(source_id=memory.id) | Q(target_id=memory.id))
    joined = list(edges.order_by("-created_at", "id")[:MAX_ROWS])
    ids = {end for edge in joined for end in (edge.source_id, edge.target_id)} - {memory.id}
    rows = Memory.objects.within(namespace).filter(id__in=ids, status__in=visible_statuses(access)) if ids else []
    return Surroundings(
        mentions,
        list(relations.select_related("source", "target").order_by("id")[:MAX_ROWS]),
        joined,
        {row.id: row for row in rows},
    )


def heard(access: Access, memory: Memory) -> dict[str, Any]:
    """Where it was said, when it was used, what it absorbed, and what gave way to it."""
    namespace = access.namespace
    sources = MemorySource.objects.within(namespace).filter(memory_id=memory.id).select_related("turn", "session")
    days = DailyAccess.objects.within(namespace).filter(memory_id=memory.id).order_by("-day")
    absorbed = Memory.objects.within(namespace).filter(merged_into_id=memory.id, status__in=visible_statuses(access))
    replaced = Memory.objects.within(namespace).filter(superseded_by_id=memory.id, status__in=visible_statuses(access))
    shown = {"sources": sources.order_by("observed_at", "id"), "absorbed": absorbed.order_by("id")}
    found: dict[str, list[Any]] = {name: list(rows[:MAX_ROWS]) for name, rows in shown.items()}
    # The count is asked for where there may be more than is shown.
    counts = {name: shown[name].count() if len(some) == MAX_ROWS else len(some) for name, some in found.items()}
    return {
        **found,
        "counts": counts,
        "days": list(days[: 4 * MAX_ROWS]),
        "replaced": list(replaced.order_by("-id")[:MAX_ROWS]),
    }
