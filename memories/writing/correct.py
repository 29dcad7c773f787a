"""Corrections: a wrong or outdated memory is superseded by a new one, now or from a later date."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.contracts.new_memory import NewMemory
from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.writing import search_index
from memories.writing.comparison import disambiguated_hash
from memories.writing.decide import JudgeVerdicts, Outcome
from memories.writing.evidence import EvidenceState
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import prepare_memories, reembed_if_changed
from memories.writing.remember import write_batch
from memories.writing.supersede import awaits_correction, supersede
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError, pending_supersession_error
from scoring.dedup import normalize

STATEMENT_FIELDS = ("content", "type", "subject", "predicate", "object")


def correct_memory(
    namespace: Namespace, memory: UUID, changes: Mapping[str, Any], *, by: str
) -> tuple[Outcome, EvidenceState]:
    """Store the correction through the normal write path and supersede the old memory."""
    row = Memory.objects.within(namespace).filter(id=memory).prefetch_related("tags").first()
    if row is None or row.status == Status.FORGOTTEN:
        raise NotFoundError(memory)
    new = corrected_memory(row, changes, namespace.now)
    if all(normalize(getattr(new, name)) == normalize(memory_as_input(row)[name]) for name in STATEMENT_FIELDS):
        raise RefusedError(
            f"Memory {memory} already says exactly this; there is nothing to correct.", "nothing_to_correct"
        )
    prepared_new = prepare_memories(namespace, [new])
    verdicts = JudgeVerdicts.collect(namespace, prepared_new)
    with lock_memories(namespace, memory, by=by) as locked:
        old = locked.get_fact(memory)
        pending = pending_successor(old.memory, new)
        # Hidden while its successor is scored: a correction must not merge with, support or contradict it.
        Memory.objects.within(namespace).filter(id=memory).update(status=Status.ARCHIVED)
        search_index.hide_memories(namespace, [memory])
        (outcome,) = write_batch(
            namespace, reembed_if_changed(namespace, prepared_new), by, dry_run=False, verdicts=verdicts
        )
        if outcome.outcome != "rejected":
            install_successor(locked, old, outcome.memory, new, pending)
        if old.memory.status == Status.ACTIVE:
            search_index.show_memories(namespace, [memory])
    return outcome, old


def pending_successor(old: Memory, new: NewMemory) -> tuple[UUID, datetime] | None:
    """The pending successor of a memory and its start; from then on only the successor can be corrected."""
    if not awaits_correction(old) or old.superseded_by_id is None or old.valid_until is None:
        return None
    if new.valid_from is None or new.valid_from >= old.valid_until:
        raise pending_supersession_error(old)
    return old.superseded_by_id, old.valid_until


def install_successor(
    locked: LockedMemories,
    old: EvidenceState,
    successor: Memory,
    new: NewMemory,
    next_successor: tuple[UUID, datetime] | None,
) -> None:
    """Supersede a memory by its correction, and the correction by any successor that was already pending."""
    starts = [start for start in (new.valid_from, successor.valid_from) if start]
    supersede(locked, old, successor, max(starts))
    if old.memory.status == Status.ACTIVE and bytes(successor.content_hash) == bytes(old.memory.content_hash):
        # A hash is unique among active memories and belongs to the successor.
        old.memory.content_hash = disambiguated_hash(old.memory)
        Memory.objects.within(locked.namespace).filter(id=old.memory.id).update(content_hash=old.memory.content_hash)
    if next_successor is None or next_successor[0] == successor.id:
        return
    (replacement,), (pending,) = locked.load_more([successor.id]), locked.load_more([next_successor[0]])
    supersede(locked, replacement, pending.memory, next_successor[1])
    for name in ("reason", "valid_until", "superseded_by_id"):
        setattr(successor, name, getattr(replacement.memory, name))


def corrected_memory(row: Memory, changes: Mapping[str, Any], now: datetime) -> NewMemory:
    """The corrected memory: given fields, otherwise those of the old one."""
    # A memory that is not valid yet is corrected from its start.
    start = changes.get("valid_from") or max(now, row.valid_from or now)
    fields = memory_as_input(row)
    del fields["content"]
    if normalize(row.object) not in normalize(changes["content"]):
        fields["object"] = ""  # the old value is not in the new text
    if row.valid_until and row.valid_until > start:
        fields["valid_until"] = row.valid_until
    new = NewMemory(**{**fields, **changes, "valid_from": start})
    if new.valid_until and new.valid_until < start:
        raise IntervalError("valid_from", "valid_until", start, new.valid_until)
    return new


def memory_as_input(row: Memory) -> dict[str, Any]:
    """A stored memory as the arguments of a `NewMemory`."""
    return {
        "content": row.content,
        "type": "" if row.type_uncertain else row.type,
        "subject": row.subject_surface,
        "predicate": row.predicate,
        "object": row.object,
        "kind": row.kind,
        "tags": tuple(tag.tag for tag in row.tags.all()),
        "user": row.user,
        "agent": row.agent,
        "importance": row.importance,
        "quality": row.quality,
        "memory_score": row.memory_score,
        "metadata": row.metadata,
    }
