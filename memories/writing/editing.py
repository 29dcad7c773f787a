"""What a caller may change of a memory without changing what it says."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import MemoryTag, Namespace
from memories.models.choices import Status
from memories.writing.held import Held, held
from memories.writing.redacting import SHORT, cleaned
from memories.writing.refusal import SpanError
from memories.writing.standing import Standing
from memories.writing.succession import awaiting, awaits, give_way, release

SPANS = (("valid_from", "valid_until"), ("event_at", "event_until"))
TOLD = ("tags", "metadata")  # in the caller's own words
# What was absorbed is found through its survivor alone.
EDITABLE = frozenset(Status) - {Status.MERGED}


def edit(namespace: Namespace, memory: UUID, changes: Mapping[str, Any], *, by: str) -> Standing:
    """Set what is not content; the history tells the numbers and times that changed."""
    columns = {name: cleaned(namespace, value) if name in TOLD else value for name, value in changes.items()}
    tags = columns.pop("tags", None)
    with held(namespace, memory, by=by) as hold:
        standing = hold.take(memory, among=EDITABLE)
        for first, last in SPANS:
            start, end = (columns.get(name, getattr(standing.memory, name)) for name in (first, last))
            if start and end and start > end:
                raise SpanError(first, last, start, end)
        if tags is not None:
            retag(standing, {tag[:SHORT] for tag in tags})  # “[e-mail]” may be longer than the address was
        moved = "valid_from" in columns and columns["valid_from"] != standing.memory.valid_from
        standing.settle(hold.now, "edited", by, **columns)
        if moved:
            begin_elsewhen(hold, standing)
        if awaits(standing.memory) and standing.memory.valid_until is None:
            release(hold, standing)
    return standing


def begin_elsewhen(hold: Held, standing: Standing) -> None:
    """Let what awaits a correction hold until it begins, also where that is on another day now."""
    for one in awaiting(hold, standing.memory.id):
        release(hold, one)
        give_way(hold, one, standing.memory, standing.memory.valid_from or hold.now)


def retag(standing: Standing, tags: set[str]) -> None:
    """Let a memory have these tags and no others."""
    rows = MemoryTag.objects.filter(namespace_id=standing.memory.namespace_id, memory_id=standing.memory.id)
    there = set(rows.values_list("tag", flat=True))
    rows.filter(tag__in=there - tags).delete()
    MemoryTag.objects.bulk_create(
        MemoryTag(namespace_id=standing.memory.namespace_id, memory_id=standing.memory.id, tag=tag)
        for tag in sorted(tags - there)
    )
