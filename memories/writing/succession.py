"""What gives way to a correction: at once, or where the correction begins."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.models.keys import NamespacedQuerySet
from memories.writing import visibility
from memories.writing.belief_history import history_of
from memories.writing.comparing import over
from memories.writing.held import Held
from memories.writing.standing import Standing, plain

AWAITS, CORRECTED = "awaits its correction", "corrected"


def supersede(hold: Held, old: Standing, new: Memory, since: datetime) -> None:
    """End what a memory says where its successor begins, unless it ended before; until then it holds on."""
    until, start = old.memory.valid_until, old.memory.valid_from
    if until is None or until > since:
        # What began later than its successor never held at all.
        until = max(since, start) if start else since
    where = {"superseded_by_id": new.id, "valid_until": until}
    if hold.now < until and until != start:
        old.settle(hold.now, "corrected", hold.by, new.id, reason=AWAITS, **where)
        return
    old.settle(hold.now, "superseded", hold.by, new.id, status=Status.SUPERSEDED, reason=CORRECTED, **where)
    if until == start:
        for one in awaiting(hold, old.memory.id):
            give_way(hold, one, new, since)


def give_way(hold: Held, old: Standing, new: Memory, since: datetime) -> None:
    """Supersede a memory that can be found, and take it out of every search where that ends it."""
    supersede(hold, old, new, since)
    if old.memory.status != Status.ACTIVE:
        visibility.hide(hold.namespace, [old.memory.id])


def release(hold: Held, standing: Standing) -> None:
    """Let a memory hold on as before, because the correction that it awaits does not come."""
    until = standing.memory.valid_until
    ends = [event for event in history_of(standing) if event.cause == "corrected" and "valid_until" in event.after]
    # What somebody has set since stands.
    if ends and ends[-1].after["valid_until"] == plain(until):
        before = ends[-1].before["valid_until"]
        until = datetime.fromisoformat(before) if before else None
    lifted: dict[str, Any] = {"reason": "", "superseded_by_id": None, "valid_until": until}
    standing.settle(hold.now, "correction withdrawn", hold.by, **lifted)


def awaits(memory: Memory) -> bool:
    """Whether a memory holds only until the one that corrects it begins."""
    return memory.status == Status.ACTIVE and memory.superseded_by_id is not None


def awaiting(hold: Held, memory: UUID) -> Iterator[Standing]:
    """Take in hand what is to give way to a memory and has not yet come to its end."""
    rows = Memory.objects.within(hold.namespace).filter(status=Status.ACTIVE, superseded_by_id=memory)
    found = hold.take_more(rows.values_list("id", flat=True))
    return (one for one in found if awaits(one.memory) and not over(one.memory, hold.now))


def due(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories whose correction has begun."""
    return all_awaiting(namespace).filter(valid_until__lte=namespace.now)


def all_awaiting(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories that are to give way, due or not."""
    return Memory.objects.within(namespace).filter(status=Status.ACTIVE, superseded_by_id__isnull=False)


def conclude(hold: Held) -> list[Standing]:
    """Supersede those in hand whose correction has begun."""
    ended = [one for one in hold.known.values() if awaits(one.memory) and over(one.memory, hold.now)]
    visibility.hide(hold.namespace, [one.memory.id for one in ended])
    for one in ended:
        where = {"status": Status.SUPERSEDED, "reason": CORRECTED}
        one.settle(hold.now, "superseded", hold.by, one.memory.superseded_by_id, **where)
    return ended
