"""Tags, entities and metadata a surviving memory inherits from the memories merged into it."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from uuid import UUID

from memories.db.ids import uuid7
from memories.models import Memory, MemoryTag, Mention, ScoreEvent

# Attribute values by kind: tags, entity ids, metadata keys.
MemoryAttributes: TypeAlias = dict[str, set[str]]
ATTRIBUTE_KINDS = ("tags", "entities", "metadata")
INHERITED_KEY = "brought"


def memory_attributes(memory: Memory) -> MemoryAttributes:
    """A memory's tags, entities and metadata keys."""
    tags = {tag.tag for tag in memory.tags.all()}
    return {
        "tags": tags,
        "entities": {str(mention.entity_id) for mention in memory.mentions.all()},
        "metadata": {*memory.metadata},
    }


def union_attributes(attribute_sets: Iterable[MemoryAttributes]) -> MemoryAttributes:
    """The union of several sets of attributes."""
    union: MemoryAttributes = {kind: set() for kind in ATTRIBUTE_KINDS}
    for names in attribute_sets:
        for kind in ATTRIBUTE_KINDS:
            union[kind] |= set(names.get(kind, ()))
    return union


def record_inherited(events: Iterable[ScoreEvent], survivor: MemoryAttributes, absorbed: MemoryAttributes) -> None:
    """Record in the merge event which attributes the absorbed memory adds to its survivor."""
    added = {
        kind: sorted(absorbed[kind] - survivor[kind]) for kind in ATTRIBUTE_KINDS if absorbed[kind] - survivor[kind]
    }
    merge = next(event for event in events if event.cause == "merged")
    merge.parts = {**merge.parts, INHERITED_KEY: added} if added else merge.parts


def inherit_attributes(survivor: Memory, absorbed: Memory) -> None:
    """Copy the tags and entities of an absorbed memory to its survivor."""
    target = {"namespace_id": survivor.namespace_id, "memory_id": survivor.id}
    tags = [MemoryTag(**target, tag=tag.tag) for tag in absorbed.tags.all()]
    MemoryTag.objects.bulk_create(tags, ignore_conflicts=True)
    mentions = [
        Mention(**target, id=uuid7(), entity_id=mention.entity_id, confidence=mention.confidence)
        for mention in absorbed.mentions.all()
    ]
    Mention.objects.bulk_create(mentions, ignore_conflicts=True)


def remove_inherited(survivor: Memory, split_off: Sequence[Memory], others: Sequence[Memory]) -> None:
    """Remove inherited attributes from a survivor unless another memory still merged into it has them."""
    merges = ScoreEvent.objects.filter(namespace_id=survivor.namespace_id, cause="merged", other_id=survivor.id)
    inherited = union_attributes(parts.get(INHERITED_KEY, {}) for parts in merges.values_list("parts", flat=True))
    removed, remaining = (
        union_attributes(map(memory_attributes, split_off)),
        union_attributes(map(memory_attributes, others)),
    )
    dropped = {kind: (inherited[kind] & removed[kind]) - remaining[kind] for kind in ATTRIBUTE_KINDS}
    survivor.tags.filter(tag__in=dropped["tags"]).delete()
    survivor.mentions.filter(entity_id__in=map(UUID, dropped["entities"])).delete()
    metadata = {name: value for other in others for name, value in other.metadata.items()}
    shared = inherited["metadata"] & removed["metadata"]
    survivor.metadata = {
        name: metadata[name] if name in shared else value
        for name, value in survivor.metadata.items()
        if name not in dropped["metadata"]
    }
