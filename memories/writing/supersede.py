"""Supersession by a correction: immediately, or when the correction becomes valid."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.models.keys import NamespacedQuerySet
from memories.writing import search_index
from memories.writing.belief_history import score_history
from memories.writing.comparison import has_expired
from memories.writing.evidence import EvidenceState, history_value
from memories.writing.lock import LockedMemories

AWAITING_REASON, CORRECTED_REASON = "awaits its correction", "corrected"


def supersede(locked: LockedMemories, old: EvidenceState, new: Memory, since: datetime) -> None:
    """End a memory's validity where its successor starts, unless it ended before; until then it stays active."""
    until, start = old.memory.valid_until, old.memory.valid_from
    if until is None or until > since:
        # A memory that starts after its successor was never valid.
        until = max(since, start) if start else since
    columns = {"superseded_by_id": new.id, "valid_until": until}
    if locked.now < until and until != start:
        old.record(locked.now, "corrected", locked.by, new.id, reason=AWAITING_REASON, **columns)
        return
    old.record(
        locked.now, "superseded", locked.by, new.id, status=Status.SUPERSEDED, reason=CORRECTED_REASON, **columns
    )
    if until == start:
        for waiting in load_awaiting(locked, old.memory.id):
            supersede_and_hide(locked, waiting, new, since)


def supersede_and_hide(locked: LockedMemories, old: EvidenceState, new: Memory, since: datetime) -> None:
    """Supersede a searchable memory, and hide it if that ends it."""
    supersede(locked, old, new, since)
    if old.memory.status != Status.ACTIVE:
        search_index.hide_memories(locked.namespace, [old.memory.id])


def cancel_supersession(locked: LockedMemories, state: EvidenceState) -> None:
    """Cancel a pending supersession and restore the memory's validity."""
    until = state.memory.valid_until
    corrections = [
        event for event in score_history(state) if event.cause == "corrected" and "valid_until" in event.after
    ]
    # An end that was edited since stays.
    if corrections and corrections[-1].after["valid_until"] == history_value(until):
        before = corrections[-1].before["valid_until"]
        until = datetime.fromisoformat(before) if before else None
    columns: dict[str, Any] = {"reason": "", "superseded_by_id": None, "valid_until": until}
    state.record(locked.now, "correction withdrawn", locked.by, **columns)


def awaits_correction(memory: Memory) -> bool:
    """Whether a memory is active only until its correction starts."""
    return memory.status == Status.ACTIVE and memory.superseded_by_id is not None


def load_awaiting(locked: LockedMemories, memory: UUID) -> Iterator[EvidenceState]:
    """Load the memories that a given one will supersede and that have not ended yet."""
    rows = Memory.objects.within(locked.namespace).filter(status=Status.ACTIVE, superseded_by_id=memory)
    states = locked.load_more(rows.values_list("id", flat=True))
    return (state for state in states if awaits_correction(state.memory) and not has_expired(state.memory, locked.now))


def leave_search(locked: LockedMemories, state: EvidenceState) -> None:
    """Hide a memory that is about to end; as a correction that has not started yet, it supersedes nothing."""
    if state.memory.status == Status.ACTIVE:
        search_index.hide_memories(locked.namespace, [state.memory.id])
    for waiting in load_awaiting(locked, state.memory.id):
        cancel_supersession(locked, waiting)


def due_supersessions(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """Memories whose correction has started."""
    return pending_supersessions(namespace).filter(valid_until__lte=namespace.now)


def pending_supersessions(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """Memories with a pending supersession, due or not."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, superseded_by_id__isnull=False)


def finish_supersessions(locked: LockedMemories) -> list[EvidenceState]:
    """Supersede the locked memories whose correction has started."""
    ended = [
        state
        for state in locked.known.values()
        if awaits_correction(state.memory) and has_expired(state.memory, locked.now)
    ]
    search_index.hide_memories(locked.namespace, [state.memory.id for state in ended])
    for state in ended:
        columns = {"status": Status.SUPERSEDED, "reason": CORRECTED_REASON}
        state.record(locked.now, "superseded", locked.by, state.memory.superseded_by_id, **columns)
    return ended
