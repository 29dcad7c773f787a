"""What was stored wrongly or holds no longer gives way to what is right."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.language.loading import load
from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.writing import visibility
from memories.writing.held import held
from memories.writing.judging import Opinions
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import prepared
from memories.writing.refusal import AbsentError, RefusedError, SpanError
from memories.writing.remember import Outcome, written
from memories.writing.standing import Standing
from scoring.dedup import normalize

STATED = ("content", "type", "subject", "predicate", "object")


def correct(namespace: Namespace, memory: UUID, said: Mapping[str, Any], *, by: str) -> tuple[Outcome, Standing]:
    """Store what is right by the one way in, and let what was wrong be superseded by it."""
    row = Memory.objects.within(namespace).filter(id=memory).prefetch_related("tags").first()
    if row is None or row.status == Status.FORGOTTEN:
        raise AbsentError(memory)
    new = corrected(row, said, namespace.now)
    if all(normalize(getattr(new, name)) == normalize(kept(row)[name]) for name in STATED):
        raise RefusedError(
            f"Memory {memory} says exactly this already; there is nothing to correct.", "nothing_to_correct"
        )
    ready = prepared(namespace, [new], load(namespace))
    opinions = Opinions.on(namespace, ready)
    with held(namespace, memory, by=by) as hold:
        old = hold.take_fact(memory)
        # Out of sight while its successor is weighed: a correction neither merges with, backs nor contradicts it.
        Memory.objects.within(namespace).filter(id=memory).update(status=Status.ARCHIVED)
        visibility.hide(namespace, [memory])
        (outcome,) = written(namespace, ready, by, dry_run=False, opinions=opinions)
        if outcome.outcome == "rejected":
            visibility.show(namespace, [memory])
        else:
            supersede(old, outcome.memory, new.valid_from or hold.now, hold.now, by)
    return outcome, old


def supersede(old: Standing, new: Memory, since: datetime, now: datetime, by: str) -> None:
    """End what a memory says where its successor begins, unless it ended before."""
    until, start = old.memory.valid_until, old.memory.valid_from
    if until is None or until > since:
        # What began later than its successor never held at all.
        until = max(since, start) if start else since
    where = {"status": Status.SUPERSEDED, "reason": "corrected", "superseded_by_id": new.id, "valid_until": until}
    old.settle(now, "superseded", by, new.id, **where)


def corrected(row: Memory, said: Mapping[str, Any], now: datetime) -> NewMemory:
    """The memory to be: what is said of it, and for the rest what the old one says."""
    since = said.get("valid_from") or now
    taken = kept(row)
    del taken["content"]
    if normalize(row.object) not in normalize(said["content"]):
        taken["object"] = ""  # the old value, which the new text does not name
    if row.valid_until and row.valid_until > since:
        taken["valid_until"] = row.valid_until
    new = NewMemory(**{**taken, **said, "valid_from": since})
    if new.valid_until and new.valid_until < since:
        raise SpanError("valid_from", "valid_until", since, new.valid_until)
    return new


def kept(row: Memory) -> dict[str, Any]:
    """What a stored memory says, as it would be told anew."""
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
