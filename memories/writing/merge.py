"""Merging two stored memories that say the same; the absorbed one stays and can be split off again."""

from collections.abc import Iterable

from django.db.models import F

from memories.db.ids import uuid7
from memories.models import Memory, MemorySource
from memories.models.choices import Status
from memories.writing import merged_attributes, visibility
from memories.writing.evidence import EvidenceState
from memories.writing.locked_memories import LockedMemories
from memories.writing.memory_sources import Origin
from memories.writing.merge_columns import merged_columns, merged_metadata
from memories.writing.supersede import cancel_supersession, load_awaiting


def merge_memories(locked: LockedMemories, survivor: EvidenceState, absorbed: EvidenceState, reason: str) -> None:
    """Merge one memory into another: union of sources and attributes, the stronger of each signal, summed accesses."""
    visibility.hide_memories(locked.namespace, [absorbed.memory.id])
    for waiting in load_awaiting(locked, absorbed.memory.id):
        if waiting is survivor:
            cancel_supersession(locked, waiting)
        else:
            waiting.record(locked.now, "merged", locked.by, survivor.memory.id, superseded_by_id=survivor.memory.id)
    # The event precedes the copied rows, so that a split can tell them from the survivor's own by id.
    columns = {"status": Status.MERGED, "reason": reason, "merged_into_id": survivor.memory.id}
    absorbed.record(locked.now, "merged", locked.by, survivor.memory.id, **columns)
    merged_attributes.record_inherited(
        absorbed.events,
        merged_attributes.memory_attributes(survivor.memory),
        merged_attributes.memory_attributes(absorbed.memory),
    )
    merged_attributes.inherit_attributes(survivor.memory, absorbed.memory)
    copies = (copy_source(survivor, row) for row in absorbed.memory.sources.all())
    MemorySource.objects.bulk_create(copies, ignore_conflicts=True)
    # n₁ + n₂ + 1, minus one per shared session or source: those are not independent observations.
    survivor.observe(absorbed.origins, absorbed.evidence, confirmation_count(absorbed))
    confirmed_at = survivor.memory.confirmed_at or absorbed.memory.confirmed_at
    merged = {**merged_columns(survivor.memory, absorbed.memory), **merged_metadata(survivor.memory, absorbed.memory)}
    survivor.record(locked.now, "merged", locked.by, absorbed.memory.id, confirmed_at=confirmed_at, **merged)
    add_accesses(survivor.memory, absorbed.memory.access_count)


def confirmation_count(state: EvidenceState) -> int:
    """Observations without a source: confirmations."""
    return state.evidence.repetitions + 1 - len(state.origins)


def add_accesses(memory: Memory, count: int) -> None:
    """Increment the access count in SQL; retrieval updates it without the namespace lock."""
    if count:
        row = Memory.objects.filter(namespace_id=memory.namespace_id, id=memory.id)
        row.update(access_count=F("access_count") + count)
        memory.access_count += count


def copy_source(state: EvidenceState, row: MemorySource) -> MemorySource:
    """Copy a source row to another memory."""
    copy = MemorySource(namespace_id=row.namespace_id, id=uuid7(), memory_id=state.memory.id)
    for name in ("session_id", "turn_id", "source", "level", "strength", "observed_at"):
        setattr(copy, name, getattr(row, name))
    return copy


def source_origins(rows: Iterable[MemorySource]) -> set[Origin]:
    """The sessions and sources of source rows."""
    return {(row.session_id, row.source) for row in rows}
