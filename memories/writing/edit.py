"""Edits that do not change what a memory states."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from memories.models import MemoryTag, Namespace
from memories.models.choices import Status
from memories.writing.evidence import EvidenceState
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import MAX_COLUMN_LENGTH, redact_if_enabled
from memories.writing.supersede import (
    awaits_correction,
    cancel_supersession,
    leave_search,
    load_awaiting,
    supersede_and_hide,
)
from memories.writing.write_errors import IntervalError, wrong_status_error
from scoring.systems.recall import rejection_reason

INTERVALS = (("valid_from", "valid_until"), ("event_at", "event_until"))
FREE_TEXT_FIELDS = ("tags", "metadata")  # redacted
# Merged memories are edited through their survivor.
EDITABLE_STATUSES = frozenset(Status) - {Status.MERGED}


def edit_memory(namespace: Namespace, memory: UUID, changes: Mapping[str, Any], *, by: str) -> EvidenceState:
    """Set non-content fields; changed numbers and times are recorded as an event.

    Another grounding verdict recomputes the confidence, and rejects what the policy would not have stored.
    """
    columns = {
        name: redact_if_enabled(namespace, value) if name in FREE_TEXT_FIELDS else value
        for name, value in changes.items()
    }
    tags = columns.pop("tags", None)
    with lock_memories(namespace, memory, by=by) as locked:
        state = locked.get(memory, allowed=EDITABLE_STATUSES)
        for first, last in INTERVALS:
            start, end = (columns.get(name, getattr(state.memory, name)) for name in (first, last))
            if start and end and start > end:
                raise IntervalError(first, last, start, end)
        if tags is not None:
            # “[e-mail]” may be longer than the address it replaces.
            set_tags(state, {tag[:MAX_COLUMN_LENGTH] for tag in tags})
        rejected = ""
        if "grounding" in columns:
            if state.memory.status != Status.ACTIVE:
                raise wrong_status_error(state.memory)
            state.evidence = replace(state.evidence, grounding=columns.pop("grounding"))
            rejected = rejection_reason(state.evidence, state.policy)
        if rejected:
            leave_search(locked, state)
            columns |= {"status": Status.REJECTED, "reason": rejected}
        start_changed = "valid_from" in columns and columns["valid_from"] != state.memory.valid_from
        state.record(locked.now, "rejected" if rejected else "edited", by, **columns)
        if start_changed:
            reschedule_corrections(locked, state)
        if awaits_correction(state.memory) and state.memory.valid_until is None:
            cancel_supersession(locked, state)
    return state


def reschedule_corrections(locked: LockedMemories, state: EvidenceState) -> None:
    """Move the end of memories waiting for this correction to its new start."""
    for waiting in load_awaiting(locked, state.memory.id):
        cancel_supersession(locked, waiting)
        supersede_and_hide(locked, waiting, state.memory, state.memory.valid_from or locked.now)


def set_tags(state: EvidenceState, tags: set[str]) -> None:
    """Replace a memory's tags."""
    rows = MemoryTag.objects.filter(namespace_id=state.memory.namespace_id, memory_id=state.memory.id)
    existing = set(rows.values_list("tag", flat=True))
    rows.filter(tag__in=existing - tags).delete()
    MemoryTag.objects.bulk_create(
        MemoryTag(namespace_id=state.memory.namespace_id, memory_id=state.memory.id, tag=tag)
        for tag in sorted(tags - existing)
    )
