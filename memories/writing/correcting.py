"""What was stored wrongly or holds no longer gives way to what is right, now or from a later day on."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.language.loading import load
from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.writing import visibility
from memories.writing.comparing import hash_beside
from memories.writing.held import Held, held
from memories.writing.judging import Opinions
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import prepared
from memories.writing.refusal import AbsentError, RefusedError, SpanError, gives_way
from memories.writing.remember import Outcome, written
from memories.writing.standing import Standing
from memories.writing.succession import awaits, supersede
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
        awaited = awaited_by(old.memory, new)
        # Out of sight while its successor is weighed: a correction neither merges with, backs nor contradicts it.
        Memory.objects.within(namespace).filter(id=memory).update(status=Status.ARCHIVED)
        visibility.hide(namespace, [memory])
        (outcome,) = written(namespace, ready, by, dry_run=False, opinions=opinions)
        if outcome.outcome != "rejected":
            take_over(hold, old, outcome.memory, new, awaited)
        if old.memory.status == Status.ACTIVE:
            visibility.show(namespace, [memory])
    return outcome, old


def awaited_by(old: Memory, new: NewMemory) -> tuple[UUID, datetime] | None:
    """What a memory gives way to already, and when; from then on it is that one which can be corrected."""
    if not awaits(old) or old.superseded_by_id is None or old.valid_until is None:
        return None
    if new.valid_from is None or new.valid_from >= old.valid_until:
        raise gives_way(old)
    return old.superseded_by_id, old.valid_until


def take_over(
    hold: Held, old: Standing, successor: Memory, new: NewMemory, awaited: tuple[UUID, datetime] | None
) -> None:
    """Let a memory give way to what was stored in its place, and that to what was awaited before."""
    starts = [moment for moment in (new.valid_from, successor.valid_from) if moment]
    supersede(hold, old, successor, max(starts))
    if old.memory.status == Status.ACTIVE and bytes(successor.content_hash) == bytes(old.memory.content_hash):
        # The words of an active memory are its own, and stand for what will hold.
        old.memory.content_hash = hash_beside(old.memory)
        Memory.objects.within(hold.namespace).filter(id=old.memory.id).update(content_hash=old.memory.content_hash)
    if awaited is None or awaited[0] == successor.id:
        return
    (heir,), (last,) = hold.take_more([successor.id]), hold.take_more([awaited[0]])
    supersede(hold, heir, last.memory, awaited[1])
    for name in ("reason", "valid_until", "superseded_by_id"):
        setattr(successor, name, getattr(heir.memory, name))


def corrected(row: Memory, said: Mapping[str, Any], now: datetime) -> NewMemory:
    """The memory to be: what is said of it, and for the rest what the old one says."""
    # What will hold only later is wrong from then on.
    since = said.get("valid_from") or max(now, row.valid_from or now)
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
