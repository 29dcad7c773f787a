"""What stays when a memory goes: its numbers stand, but it tells of the erased one no more."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.erasing.redaction import ERASED, Redaction
from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Status
from memories.writing import merge, search_index
from memories.writing.belief_history import score_history
from memories.writing.comparison import has_expired
from memories.writing.evidence import load_evidence
from memories.writing.lock import LockedMemories
from memories.writing.merge import columns_without_merge
from memories.writing.supersede import awaits_correction, cancel_supersession
from memories.writing.write_policy import current_write_policy

BY = "purge"
LEFT = {
    Status.SUPERSEDED: "what replaced it was erased",
    Status.MERGED: "what it was merged into was erased",
}


def left_by(namespace: Namespace, ids: Sequence[UUID]) -> list[UUID]:
    """The memories that stay, though what replaced or absorbed them goes."""
    hanging = Q(superseded_by_id__in=ids) | Q(merged_into_id__in=ids)
    return list(Memory.objects.within(namespace).filter(hanging).exclude(id__in=ids).values_list("id", flat=True))


def archive_left(namespace: Namespace, ids: Sequence[UUID]) -> int:
    """Archive what was replaced by or merged into memories that go.

    It does not become active again: that a correction is gone does not make true what it corrected. Only what awaits a
    correction that has not begun holds on.
    """
    hold = holding(namespace, left_by(namespace, ids))
    ended = {
        id for id, one in hold.known.items() if awaits_correction(one.memory) and has_expired(one.memory, hold.now)
    }
    search_index.hide_memories(namespace, list(ended))
    for standing in hold.known.values():
        memory = standing.memory
        if awaits_correction(memory) and memory.id not in ended:
            cancel_supersession(hold, standing)
            continue
        for name in ("superseded_by_id", "merged_into_id"):
            if getattr(memory, name) in ids:
                setattr(memory, name, None)
        # What was forgotten or archived since stays so.
        where: dict[str, Any] = {}
        stood = Status.SUPERSEDED if memory.id in ended else Status(memory.status)
        if stood in LEFT:
            where = {"status": Status.ARCHIVED, "reason": LEFT[stood]}
        standing.record(hold.now, "archived", BY, **where)
    return filed(hold)


def weigh_again(namespace: Namespace, ids: Iterable[UUID]) -> int:
    """Weigh memories that lost a source by what they still rest on."""
    hold = holding(namespace, ids)
    for standing in hold.known.values():
        told_itself = columns_without_merge(score_history(standing), standing.memory.absorbed.order_by("id"))
        standing.record(hold.now, "source erased", BY, **told_itself)
    return filed(hold)


def give_back(namespace: Namespace, heads: Iterable[UUID], memories: Iterable[Memory]) -> None:
    """Take from survivors what memories that go had brought to them."""
    ids = {memory.id for memory in memories}
    for survivor in Memory.objects.within(namespace).filter(id__in=heads):
        absorbed = list(survivor.absorbed.order_by("id"))
        gone, others = ([one for one in absorbed if (one.id in ids) is going] for going in (True, False))
        merge.remove_inherited(survivor, gone, others)
        survivor.save(update_fields=["metadata"])


def holding(namespace: Namespace, ids: Iterable[UUID]) -> LockedMemories:
    """Memories in hand; the caller holds the namespace's lock."""
    return LockedMemories(namespace, BY, namespace.now, load_evidence(namespace, ids, current_write_policy(namespace)))


def filed(hold: LockedMemories) -> int:
    """Write what became of memories in hand; tell how many changed."""
    hold.flush()
    return sum(bool(standing.events) for standing in hold.known.values())


def redact_history(namespace: Namespace, ids: Sequence[UUID], redaction: Redaction) -> int:
    """Rewrite the events of survivors that name or quote what goes: number by number the same, without the words.

    Events are written once, so one that tells too much is erased and a copy that does not takes its place.
    """
    events = ScoreEvent.objects.within(namespace)
    caused = events.filter(other_id__in=ids).exclude(memory_id__in=ids).values_list("memory_id", flat=True)
    touched = Memory.objects.within(namespace).filter(id__in={*caused, *left_by(namespace, ids)})
    history: dict[UUID, list[ScoreEvent]] = {memory.id: [] for memory in touched}
    for event in events.filter(memory_id__in=history):
        history[event.memory_id].append(event)
    copies = []
    for memory in touched:
        # Whoever caused a change worded its reason, so that the reason may tell of them in any words.
        reasons = {event.after.get("reason", "") for event in history[memory.id] if event.other_id in ids}
        told = Redaction(redaction.ids, redaction.texts | (reasons - {"", ERASED}))
        copies += [copy for event in history[memory.id] if (copy := redacted(event, told)) is not None]
        memory.reason = told.of_json(memory.reason)
    Memory.objects.bulk_update(touched, ["reason"])
    events.filter(id__in=[event.id for event in copies]).erase()
    ScoreEvent.objects.bulk_create(copies)
    return len(copies)


def redacted(event: ScoreEvent, told: Redaction) -> ScoreEvent | None:
    """An event that tells of nothing erased; none where it never did."""
    kept = {field.attname: getattr(event, field.attname) for field in ScoreEvent._meta.concrete_fields}
    copy = {name: worded(value, told) if isinstance(value, dict) else value for name, value in kept.items()}
    copy["other_id"] = None if str(event.other_id) in told.ids else event.other_id
    return None if copy == kept else ScoreEvent(**copy)


def worded(columns: dict[str, Any], told: Redaction) -> dict[str, Any]:
    """Columns of an event without what names an id, and with a reason that quotes nothing.

    A reason alone is free text: that another column's value is also some memory's whole text is chance.
    """
    kept: dict[str, Any] = Redaction(told.ids, frozenset()).of_json(columns)
    return {name: told.of_json(value) if name == "reason" else value for name, value in kept.items()}
