"""What surrounds a memory: neighbours by cosine, entities and edges, sources, uses and merged duplicates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Q

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
from memories.web.memory_filters import visible_statuses
from memories.web.roles import Access
from memories.writing.comparison import are_restatements, conflict_reasons
from memories.writing.neighbours import nearest_memories
from scoring.dedup import Band, merge_band
from scoring.policy import WritePolicyParams

MAX_ROWS = 50  # edges, sources and duplicates listed


@dataclass(frozen=True)
class MemoryNeighbour:
    """A neighbour with its cosine, its band, and the outcome of comparing the two."""

    memory: Memory
    cosine: float
    band: Band
    outcome: str
    chip: str
    reason: str


OUTCOMES = {
    EdgeKind.CONTRADICTION: ("conflict", "bad"),
    EdgeKind.SUPPORTS: ("supports", "good"),
    Verdict.PENDING: ("to review", "mark"),
    Verdict.DISTINCT: ("distinct", "good"),
    Verdict.DUPLICATE: ("duplicate", "on"),
}


def load_neighbours(
    access: Access, memory: Memory, policy: WritePolicyParams, edges: list[MemoryEdge]
) -> list[MemoryNeighbour] | None:
    """The nearest active facts by the full text vector, nearest first; None if the memory has no vector."""
    vectors = MemoryVector.objects.within(access.namespace).filter(
        memory_id=memory.id, route=Route.FULL, embedder=access.namespace.embedder
    )
    vector = vectors.values_list("vector", flat=True).first()
    if vector is None:
        return None
    with transaction.atomic():
        (nearest,) = nearest_memories(access.namespace, np.array([vector], dtype=float), min_cosine=-1.0)
    cosines = {hit.memory: hit.cosine for hit in nearest if hit.memory != memory.id}
    rows = {row.id: row for row in Memory.objects.within(access.namespace).filter(id__in=cosines)}
    kinds = {edge.target_id if edge.source_id == memory.id else edge.source_id: edge.kind for edge in edges}
    pairs = ReviewItem.objects.within(access.namespace).filter(Q(first_id=memory.id) | Q(second_id=memory.id))
    reviews = {pair.second_id if pair.first_id == memory.id else pair.first_id: pair for pair in pairs[:MAX_ROWS]}
    return [
        compare_neighbour(memory, rows[id], cosine, policy, kinds.get(id, ""), reviews.get(id))
        for id, cosine in cosines.items()
        if id in rows
    ]


def compare_neighbour(
    memory: Memory, other: Memory, cosine: float, policy: WritePolicyParams, kind: str, review: ReviewItem | None
) -> MemoryNeighbour:
    """A neighbour and its outcome: by edge, by review, or by conflict rules."""
    restated = are_restatements(memory, other)
    band = merge_band(cosine, restated=restated, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)
    conflicts = ", ".join(conflict_reasons(memory, other))
    if kind:
        outcome, chip = OUTCOMES.get(EdgeKind(kind), (kind.replace("_", " "), ""))
        reason = conflicts if conflicts and kind == EdgeKind.CONTRADICTION else "joined by an edge"
    elif review:
        outcome, chip = OUTCOMES.get(Verdict(review.state), (review.state, ""))
        reason = review.reason or ("waits for review" if review.state == Verdict.PENDING else "decided")
    else:
        outcome, chip = "distinct", ""
        reason = conflicts if band != "distinct" else ""
    return MemoryNeighbour(other, cosine, band, outcome, chip, reason)


@dataclass(frozen=True)
class MemoryGraph:
    """The entities a memory mentions, and its edges to other memories."""

    entities: list[Mention]
    relations: list[EntityEdge]
    edges: list[MemoryEdge]
    others: Mapping[UUID, Memory]

    @property
    def linked_memories(self) -> list[tuple[MemoryEdge, Memory, bool]]:
        """Each edge with the memory at its other end, and whether the edge points there."""
        ends = ((edge, self.others.get(edge.target_id), self.others.get(edge.source_id)) for edge in self.edges)
        return [
            (edge, target or source, target is not None)  # type: ignore[misc]
            for edge, target, source in ends
            if target or source
        ]

    @property
    def chart_size(self) -> str:
        """Height of its chart."""
        return "mid" if max(len(self.entities), len(self.edges)) > 2 else "low"

    def __bool__(self) -> bool:
        return bool(self.entities or self.edges)


def load_memory_graph(access: Access, memory: Memory) -> MemoryGraph:
    """The graph within one hop of a memory, in four SQL queries."""
    namespace = access.namespace
    mentions = list(
        Mention.objects.within(namespace).filter(memory_id=memory.id).select_related("entity").order_by("id")[:MAX_ROWS]
    )
    entities = [mention.entity_id for mention in mentions]
    relations = EntityEdge.objects.within(namespace).filter(
        Q(memory_id=memory.id) | Q(source_id__in=entities, target_id__in=entities)
    )
    incident = MemoryEdge.objects.within(namespace).filter(Q(source_id=memory.id) | Q(target_id=memory.id))
    edges = list(incident.order_by("-created_at", "id")[:MAX_ROWS])
    ids = {end for edge in edges for end in (edge.source_id, edge.target_id)} - {memory.id}
    rows = Memory.objects.within(namespace).filter(id__in=ids, status__in=visible_statuses(access)) if ids else []
    return MemoryGraph(
        mentions,
        list(relations.select_related("source", "target").order_by("id")[:MAX_ROWS]),
        edges,
        {row.id: row for row in rows},
    )


def load_provenance(access: Access, memory: Memory) -> dict[str, Any]:
    """Sources, days of use, merged duplicates, and superseded memories."""
    namespace = access.namespace
    sources = MemorySource.objects.within(namespace).filter(memory_id=memory.id).select_related("turn", "session")
    days = DailyAccess.objects.within(namespace).filter(memory_id=memory.id).order_by("-day")
    absorbed = Memory.objects.within(namespace).filter(merged_into_id=memory.id, status__in=visible_statuses(access))
    replaced = Memory.objects.within(namespace).filter(superseded_by_id=memory.id, status__in=visible_statuses(access))
    listings = {"sources": sources.order_by("observed_at", "id"), "absorbed": absorbed.order_by("id")}
    listed: dict[str, list[Any]] = {name: list(rows[:MAX_ROWS]) for name, rows in listings.items()}
    # Count in SQL only if there may be more than are listed.
    counts = {name: listings[name].count() if len(rows) == MAX_ROWS else len(rows) for name, rows in listed.items()}
    return {
        **listed,
        "counts": counts,
        "days": list(days[: 4 * MAX_ROWS]),
        "replaced": list(replaced.order_by("-id")[:MAX_ROWS]),
    }
