"""Memories that outlive an erased one: archived, recomputed from their other evidence, or handed to another user."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.maintenance.erasure_scope import sources_of_others
from memories.models import Memory, MemorySource, Namespace
from memories.models.choices import Status
from memories.writing import merge, search_index
from memories.writing.belief_history import score_history
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.comparison import has_expired
from memories.writing.evidence import load_evidence
from memories.writing.lock import LockedMemories
from memories.writing.merge import columns_without_merge
from memories.writing.supersede import awaits_correction, cancel_supersession
from memories.writing.write_policy import current_write_policy

CALLER = "purge"
ARCHIVE_REASONS = {
    Status.SUPERSEDED: "what replaced it was erased",
    Status.MERGED: "what it was merged into was erased",
}


def replaced_by(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The memories outside `ids` that were superseded by or merged into one of them."""
    replaced = Q(superseded_by_id__in=ids) | Q(merged_into_id__in=ids)
    return list(Memory.objects.within(namespace).filter(replaced).exclude(id__in=ids).values_list("id", flat=True))


def archive_replaced(namespace: Namespace, ids: Sequence[UUID]) -> int:
    """Archive memories that were superseded by or merged into those to be erased; returns how many changed.

    They do not become active again: erasing a correction does not make the corrected memory true. Only a memory whose
    correction has not taken effect yet stays active.
    """
    locked = load_states(namespace, replaced_by(namespace, ids))
    superseded = {
        id
        for id, state in locked.known.items()
        if awaits_correction(state.memory) and has_expired(state.memory, locked.now)
    }
    search_index.hide_memories(namespace, list(superseded))
    for state in locked.known.values():
        memory = state.memory
        if awaits_correction(memory) and memory.id not in superseded:
            cancel_supersession(locked, state)
            continue
        for column in ("superseded_by_id", "merged_into_id"):
            if getattr(memory, column) in ids:
                setattr(memory, column, None)
        # Memories forgotten or archived since stay so.
        columns: dict[str, Any] = {}
        status = Status.SUPERSEDED if memory.id in superseded else Status(memory.status)
        if status in ARCHIVE_REASONS:
            columns = {"status": Status.ARCHIVED, "reason": ARCHIVE_REASONS[status]}
        state.record(locked.now, "archived", CALLER, **columns)
    return flush_states(locked)


def recompute_evidence(namespace: Namespace, ids: Iterable[UUID]) -> int:
    """Recompute memories that lost a source from the evidence they have left; returns how many changed."""
    locked = load_states(namespace, ids)
    for state in locked.known.values():
        own_columns = columns_without_merge(score_history(state), state.memory.absorbed.order_by("id"))
        state.record(locked.now, "source erased", CALLER, **own_columns)
    return flush_states(locked)


def remove_inherited_metadata(namespace: Namespace, targets: Iterable[UUID], erased: Iterable[Memory]) -> None:
    """Remove from merge targets the tags, entities and metadata inherited from erased memories."""
    erased_ids = {memory.id for memory in erased}
    for target in Memory.objects.within(namespace).filter(id__in=targets):
        absorbed = list(target.absorbed.order_by("id"))
        leaving = [memory for memory in absorbed if memory.id in erased_ids]
        staying = [memory for memory in absorbed if memory.id not in erased_ids]
        merge.remove_inherited(target, leaving, staying)
        target.save(update_fields=["metadata"])


def hand_over_memories(namespace: Namespace, memories: Collection[UUID], user: str) -> int:
    """Assign memories to the first other user who said them; the caller holds the lock."""
    heirs: dict[UUID, Any] = {}
    for source in sources_of_others(namespace, memories, user):
        heirs.setdefault(source.memory_id, source)
    rows = list(Memory.objects.within(namespace).filter(id__in=heirs))
    # An unnamed source without session and turn most likely comes from the owner.
    anonymous = Q(session_id=None, turn_id=None, source="", memory_id__in=[row.id for row in rows if row.user == user])
    MemorySource.objects.within(namespace).filter(anonymous).delete()
    for row in rows:
        heir = heirs[row.id]
        if row.user == user:
            row.user, row.evidence = heir.speaker, ""
        row.session_id, row.turn_id = heir.session_id, heir.turn_id
    bulk_update_columns(rows, ["user", "evidence", "session_id", "turn_id"])
    recompute_evidence(namespace, heirs)
    return len(rows)


def load_states(namespace: Namespace, ids: Iterable[UUID]) -> LockedMemories:
    """The evidence states of memories; the caller holds the namespace's lock."""
    states = load_evidence(namespace, ids, current_write_policy(namespace))
    return LockedMemories(namespace, CALLER, namespace.now, states)


def flush_states(locked: LockedMemories) -> int:
    """Write the changed states; returns how many there were."""
    locked.flush()
    return sum(bool(state.events) for state in locked.known.values())
