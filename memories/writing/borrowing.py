"""The tags, entities and further data that a survivor has of what it absorbed, and which go when that goes."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from uuid import UUID

from memories.ids import uuid7
from memories.models import Memory, MemoryTag, Mention, ScoreEvent

# By what they are: tags, entities, the keys of metadata.
Names: TypeAlias = dict[str, set[str]]
KINDS = ("tags", "entities", "metadata")
BROUGHT = "brought"


def names_of(memory: Memory) -> Names:
    """All that a memory is called by and kept with."""
    tags = {tag.tag for tag in memory.tags.all()}
    return {
        "tags": tags,
        "entities": {str(one.entity_id) for one in memory.mentions.all()},
        "metadata": {*memory.metadata},
    }


def joined(some: Iterable[Names]) -> Names:
    """The names of several."""
    names: Names = {kind: set() for kind in KINDS}
    for one in some:
        for kind in KINDS:
            names[kind] |= set(one.get(kind, ()))
    return names


def note(events: Iterable[ScoreEvent], kept: Names, gone: Names) -> None:
    """Write down with the merge of a memory what it brings that its survivor does not have."""
    fresh = {kind: sorted(gone[kind] - kept[kind]) for kind in KINDS if gone[kind] - kept[kind]}
    merge = next(event for event in events if event.cause == "merged")
    merge.parts = {**merge.parts, BROUGHT: fresh} if fresh else merge.parts


def lend(kept: Memory, gone: Memory) -> None:
    """Let a survivor be called by the tags and entities of what it absorbs."""
    where = {"namespace_id": kept.namespace_id, "memory_id": kept.id}
    tags = [MemoryTag(**where, tag=tag.tag) for tag in gone.tags.all()]
    MemoryTag.objects.bulk_create(tags, ignore_conflicts=True)
    mentions = [
        Mention(**where, id=uuid7(), entity_id=one.entity_id, confidence=one.confidence) for one in gone.mentions.all()
    ]
    Mention.objects.bulk_create(mentions, ignore_conflicts=True)


def give_back(survivor: Memory, gone: Sequence[Memory], others: Sequence[Memory]) -> None:
    """Take from a survivor what merges brought of some memories, unless others that are still merged have it too."""
    merges = ScoreEvent.objects.filter(namespace_id=survivor.namespace_id, cause="merged", other_id=survivor.id)
    lent = joined(parts.get(BROUGHT, {}) for parts in merges.values_list("parts", flat=True))
    theirs, left = joined(map(names_of, gone)), joined(map(names_of, others))
    lost = {kind: (lent[kind] & theirs[kind]) - left[kind] for kind in KINDS}
    survivor.tags.filter(tag__in=lost["tags"]).delete()
    survivor.mentions.filter(entity_id__in=map(UUID, lost["entities"])).delete()
    told = {name: value for other in others for name, value in other.metadata.items()}
    shared = lent["metadata"] & theirs["metadata"]
    survivor.metadata = {
        name: told[name] if name in shared else value
        for name, value in survivor.metadata.items()
        if name not in lost["metadata"]
    }
