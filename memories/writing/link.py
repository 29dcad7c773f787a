"""Manual edges between memories and between entities."""

from uuid import UUID

from django.db import IntegrityError, transaction

from memories.models import Entity, EntityEdge, MemoryEdge, Namespace
from memories.models.choices import EdgeKind
from memories.writing.belief_history import BeliefStep, withdraw_all
from memories.writing.edit import EDITABLE_STATUSES
from memories.writing.lock import LockedMemories, lock_memories, lock_namespace
from memories.writing.write_errors import NotFoundError, RefusedError
from scoring.belief import EvidenceKind

# Kinds whose edges must stay acyclic.
ACYCLIC_KINDS = frozenset(
    [
        EdgeKind.EXTENDS,
        EdgeKind.CONTINUATION,
        EdgeKind.DETAIL_OF,
        EdgeKind.SUMMARY_OF,
        EdgeKind.DERIVED_FROM,
        EdgeKind.CAUSED_BY,
    ]
)
# The effect of an edge on belief when it was added, and on which ends.
BELIEF_EFFECTS: dict[str, tuple[EvidenceKind, tuple[str, ...]]] = {
    EdgeKind.SUPPORTS: ("corroboration", ("target_id",)),
    EdgeKind.CONTRADICTION: ("contradiction", ("source_id", "target_id")),
}


def link_memories(
    namespace: Namespace, source: UUID, target: UUID, kind: EdgeKind, *, weight: float, by: str
) -> MemoryEdge:
    """Add an edge between two memories; a cycle of an acyclic kind is refused."""
    with lock_memories(namespace, source, target, by=by) as locked:
        for memory in (source, target):
            locked.get(memory, allowed=EDITABLE_STATUSES)
        edges = MemoryEdge.objects.within(namespace).filter(kind=kind)
        if edges.filter(source_id=source, target_id=target).exists():
            raise RefusedError(f"This edge already exists: {source} {kind} {target}.", "edge_exists")
        if kind in ACYCLIC_KINDS and (path_back := shortest_edge_path(namespace, kind, target, source)):
            cycle = " → ".join(map(str, [source, *path_back]))
            raise RefusedError(f"This would close a cycle of {kind}: {cycle}.", "cycle")
        return MemoryEdge.objects.create(
            namespace=namespace, source_id=source, target_id=target, kind=kind, weight=weight, created_at=locked.now
        )


def shortest_edge_path(namespace: Namespace, kind: EdgeKind, start: UUID, end: UUID) -> list[UUID]:
    """The shortest path along edges of one kind, both ends included; empty if there is none."""
    edges = MemoryEdge.objects.within(namespace).filter(kind=kind)
    parents: dict[UUID, UUID | None] = {start: None}
    frontier = [start]
    while frontier and end not in parents:
        hops = edges.filter(source_id__in=frontier).order_by("id").values_list("source_id", "target_id")
        reached = {child: node for node, child in hops if child not in parents}
        parents |= reached
        frontier = list(reached)
    nodes, node = [], end if end in parents else None
    while node is not None:
        nodes.append(node)
        node = parents[node]
    return nodes[::-1]


def relate_entities(
    namespace: Namespace, source: Entity, predicate: str, target: Entity, confidence: float
) -> EntityEdge:
    """Add an edge between two entities that the caller asserts without a memory."""
    edge = EntityEdge(namespace=namespace, source=source, predicate=predicate, target=target, confidence=confidence)
    edge.created_at = namespace.now
    try:
        with transaction.atomic():
            lock_namespace(namespace)  # the write count invalidates cached graphs
            edge.save(force_insert=True)
    except IntegrityError as error:
        message = f"This edge already exists: {source.id} {predicate} {target.id}."
        raise RefusedError(message, "edge_exists") from error
    return edge


def delete_edge(namespace: Namespace, edge: UUID, *, by: str) -> None:
    """Delete an edge between entities or memories and undo its effect on belief."""
    relations = EntityEdge.objects.within(namespace).filter(id=edge)
    if relations.exists():
        with transaction.atomic():
            lock_namespace(namespace)
            relations.delete()
        return
    memory_edge = MemoryEdge.objects.within(namespace).filter(id=edge).first()
    if memory_edge is None:
        raise NotFoundError(edge, "edge")
    with lock_memories(namespace, memory_edge.source_id, memory_edge.target_id, by=by) as locked:
        if MemoryEdge.objects.within(namespace).filter(id=edge).delete()[0]:
            revert_belief(locked, memory_edge)


def revert_belief(locked: LockedMemories, edge: MemoryEdge) -> None:
    """Undo an edge's effect on belief; a manual edge may have had none."""
    if edge.kind not in BELIEF_EFFECTS:
        return
    # A merge has already counted the edges of the memories it joined.
    states = {memory: locked.get(memory, allowed=EDITABLE_STATUSES) for memory in (edge.source_id, edge.target_id)}
    sign, ends = BELIEF_EFFECTS[edge.kind]
    for end in ends:
        state = states[getattr(edge, end)]
        other = edge.source_id if end == "target_id" else edge.target_id
        if withdraw_all(state, BeliefStep(sign, other)):
            state.record(locked.now, "edge removed", locked.by, other)
