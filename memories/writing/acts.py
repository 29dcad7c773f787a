"""What later evidence does to a stored memory: confirmation, feedback, forgetting; each leaves an event."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Status
from memories.writing import visibility
from memories.writing.policy import policy_of
from memories.writing.remember import lock
from memories.writing.standing import TRACKED, Standing, loaded
from scoring import evidence

Act = Callable[[Standing, datetime], None]


def confirm(namespace: Namespace, memory: UUID, *, by: str) -> Standing | None:
    """The user says that it is so: a stronger source, one observation more, no grounding doubt, and a cap."""

    def act(standing: Standing, now: datetime) -> None:
        standing.evidence = evidence.confirmed(standing.evidence)
        standing.memory.confirmed_at = now
        standing.settle(now, "confirmed", by)

    return changed(namespace, memory, act)


def judge(namespace: Namespace, memory: UUID, *, useful: bool, by: str) -> Standing | None:
    """An agent tells whether a memory helped; contextdb's utility is made of these counts."""

    def act(standing: Standing, now: datetime) -> None:
        column = "useful" if useful else "not_useful"
        setattr(standing.memory, column, getattr(standing.memory, column) + 1)
        standing.settle(now, "found useful" if useful else "found not useful", by)

    return changed(namespace, memory, act)


def forget(namespace: Namespace, memory: UUID, *, by: str) -> Standing | None:
    """Take a memory out of every answer; its rows stay until they are purged."""

    def act(standing: Standing, now: datetime) -> None:
        if standing.memory.status == Status.ACTIVE:
            visibility.hide(namespace, [standing.memory.id])
        standing.settle(now, "forgotten", by, status=Status.FORGOTTEN, reason=f"forgotten by {by}")

    return changed(namespace, memory, act)


@transaction.atomic
def changed(namespace: Namespace, memory: UUID, act: Act) -> Standing | None:
    """Do something to one memory under the lock of its namespace; nothing where there is no such memory."""
    lock(namespace)
    standing = loaded(namespace, [memory], policy_of(namespace)).get(memory)
    if standing is None or standing.memory.status == Status.FORGOTTEN:
        return None
    act(standing, namespace.clock or timezone.now())
    Memory.objects.bulk_update([standing.memory], [*TRACKED, "confirmed_at"])
    ScoreEvent.objects.bulk_create(standing.events)
    return standing
