"""Edges drawn and taken away by hand: how memories bear on each other, how entities relate."""

from uuid import UUID

from django.db import IntegrityError, transaction

from memories.models import Entity, EntityEdge, MemoryEdge, Namespace
from memories.models.choices import EdgeKind
from memories.writing.belief_history import Step, history_of, steps, withdraw
from memories.writing.editing import EDITABLE
from memories.writing.held import Held, held
from memories.writing.refusal import AbsentError, RefusedError
from memories.writing.remember import lock
from scoring.belief import Evidence

# Kinds that put memories in an order, in which nothing comes before itself.
ORDERS = frozenset(
    [
        EdgeKind.EXTENDS,
        EdgeKind.CONTINUATION,
        EdgeKind.DETAIL_OF,
        EdgeKind.SUMMARY_OF,
        EdgeKind.DERIVED_FROM,
        EdgeKind.CAUSED_BY,
    ]
)
# What an edge did to belief when it was drawn, and to which of its ends.
WEIGHED: dict[str, tuple[Evidence, tuple[str, ...]]] = {
    EdgeKind.SUPPORTS: ("corroboration", ("target_id",)),
    EdgeKind.CONTRADICTION: ("contradiction", ("source_id", "target_id")),
}


def link(namespace: Namespace, source: UUID, target: UUID, kind: EdgeKind, *, weight: float, by: str) -> MemoryEdge:
    """Draw an edge between two memories; where the kind is an order, one that closes a circle is refused."""
    with held(namespace, source, target, by=by) as hold:
        for memory in (source, target):
            hold.take(memory, among=EDITABLE)
        edges = MemoryEdge.objects.within(namespace).filter(kind=kind)
        if edges.filter(source_id=source, target_id=target).exists():
            raise RefusedError(f"There is such an edge already: {source} {kind} {target}.", "edge_exists")
        if kind in ORDERS and (back := path(namespace, kind, target, source)):
            circle = " → ".join(map(str, [source, *back]))
            raise RefusedError(f"This would close a circle of {kind}: {circle}.", "circle")
        return MemoryEdge.objects.create(
            namespace=namespace, source_id=source, target_id=target, kind=kind, weight=weight, created_at=hold.now
        )


def path(namespace: Namespace, kind: EdgeKind, start: UUID, end: UUID) -> list[UUID]:
    """The shortest way along edges of one kind, both ends included; nothing where there is none."""
    edges = MemoryEdge.objects.within(namespace).filter(kind=kind)
    came_from: dict[UUID, UUID | None] = {start: None}
    border = [start]
    while border and end not in came_from:
        steps_on = edges.filter(source_id__in=border).order_by("id").values_list("source_id", "target_id")
        fresh = {there: here for here, there in steps_on if there not in came_from}
        came_from |= fresh
        border = list(fresh)
    way, here = [], end if end in came_from else None
    while here is not None:
        way.append(here)
        here = came_from[here]
    return way[::-1]


def relate(namespace: Namespace, source: Entity, predicate: str, target: Entity, confidence: float) -> EntityEdge:
    """Draw an edge between two entities, from nobody's memory but the caller's word."""
    edge = EntityEdge(namespace=namespace, source=source, predicate=predicate, target=target, confidence=confidence)
    edge.created_at = namespace.now
    try:
        with transaction.atomic():
            lock(namespace)  # what a process keeps of the graph is told by the count of writes
            edge.save(force_insert=True)
    except IntegrityError as error:
        told = f"There is such an edge already: {source.id} {predicate} {target.id}."
        raise RefusedError(told, "edge_exists") from error
    return edge


def unlink(namespace: Namespace, edge: UUID, *, by: str) -> None:
    """Take an edge away, between entities or memories; belief goes back by what the edge did to it."""
    relations = EntityEdge.objects.within(namespace).filter(id=edge)
    if relations.exists():
        with transaction.atomic():
            lock(namespace)
            relations.delete()
        return
    found = MemoryEdge.objects.within(namespace).filter(id=edge).first()
    if found is None:
        raise AbsentError(edge, "edge")
    with held(namespace, found.source_id, found.target_id, by=by) as hold:
        if MemoryEdge.objects.within(namespace).filter(id=edge).delete()[0]:
            unweigh(hold, found)


def unweigh(hold: Held, edge: MemoryEdge) -> None:
    """Take back what an edge did to belief; one drawn by hand may have done nothing."""
    if edge.kind not in WEIGHED:
        return
    # A merge has counted on the edges of what it joined.
    joined = {memory: hold.take(memory, among=EDITABLE) for memory in (edge.source_id, edge.target_id)}
    sign, ends = WEIGHED[edge.kind]
    for end in ends:
        standing = joined[getattr(edge, end)]
        other = edge.source_id if end == "target_id" else edge.target_id
        if count := steps(history_of(standing)).count(Step(sign, other)):
            withdraw(standing, Step(sign, other), count)
            standing.settle(hold.now, "edge removed", hold.by, other)
