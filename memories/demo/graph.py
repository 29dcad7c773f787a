"""The demo's entities, how they relate, and how memories bear on each other, as rows."""

from collections.abc import Iterator
from uuid import UUID

from memories.demo.history import History
from memories.demo.record import Record
from memories.demo.world import Edge, World
from memories.ids import derived
from memories.models import Entity, EntityAlias, EntityEdge, MemoryEdge, ReviewItem
from memories.models.choices import EdgeKind
from scoring.dedup import normalize


def entity_id(world: World, key: str) -> UUID:
    """Give an entity's identifier."""
    return derived(world.first_mentions[key], f"entity {key}")


def entities(world: World) -> Iterator[Entity | EntityAlias]:
    """Make every entity and its other names."""
    for entity in world.entities.values():
        identifier, since = entity_id(world, entity.key), world.first_mentions[entity.key]
        name = {"name": entity.name, "normalised": normalize(entity.name)}
        yield Entity(id=identifier, kind=entity.kind, created_at=since, **name)
        for alias in entity.aliases:
            yield EntityAlias(
                id=derived(since, f"alias {entity.key} {alias}"),
                entity_id=identifier,
                name=alias,
                normalised=normalize(alias),
            )


def edges(history: History) -> Iterator[EntityEdge | MemoryEdge]:
    """Make the edges between entities, then those between memories."""
    world = history.world
    for edge in world.edges:
        told_by = teller(history, edge)
        known = max(world.first_mentions[edge.source], world.first_mentions[edge.target])
        since = told_by.memory.created_at if told_by else known
        yield EntityEdge(
            id=derived(since, f"edge {edge.source} {edge.predicate} {edge.target}"),
            source_id=entity_id(world, edge.source),
            predicate=edge.predicate,
            target_id=entity_id(world, edge.target),
            confidence=edge.confidence,
            memory_id=told_by.id if told_by else None,
            created_at=since,
        )
    for link in world.links:
        source, target = history.records[link.source], history.records[link.target]
        # Whichever way it was written, the later one contradicts.
        if link.kind == EdgeKind.CONTRADICTION:
            target, source = sorted((source, target), key=lambda one: one.id)
        if link.kind in EdgeKind.values:
            since = max(source.memory.created_at, target.memory.created_at)
            yield MemoryEdge(
                id=derived(since, f"link {link.source} {link.kind} {link.target}"),
                source_id=source.id,
                target_id=target.id,
                kind=link.kind,
                cosine=link.cosine,
                created_at=since,
            )


def teller(history: History, edge: Edge) -> Record | None:
    """Find the first memory that states an edge in so many words."""
    said = (edge.source, edge.predicate, edge.target)
    found = [one for one in history.world.memories.values() if (one.subject, one.predicate, one.object) == said]
    return history.records[min(found, key=lambda one: one.created_at).key] if found else None


def reviews(history: History) -> Iterator[ReviewItem]:
    """Make the pairs that are too close to call."""
    policy = history.policy
    for link in history.world.links:
        pair = (history.records[link.source], history.records[link.target])
        first, second = sorted(pair, key=lambda one: one.id)
        # A pair is no question any more once one of the two was merged, replaced or rejected.
        if link.kind != "escalate" or link.cosine is None or not (first.active and second.active):
            continue
        yield ReviewItem(
            id=derived(second.memory.created_at, f"review {link.source} {link.target}"),
            first_id=first.id,
            second_id=second.id,
            cosine=link.cosine,
            reason=(
                f"cosine {link.cosine:.3f} is neither below {policy.dedup_escalate:.2f}, where both stay, "
                f"nor above {policy.dedup_duplicate:.2f}, where they are one"
            ),
            created_at=second.memory.created_at,
        )
