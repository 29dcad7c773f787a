"""Stored memories in hand: locked, read, changed and filed in one transaction."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, ScoreEvent
from memories.models.choices import ChunkLevel, Status
from memories.writing.copying import updated
from memories.writing.policy import policy_of
from memories.writing.refusal import AbsentError, RefusedError, not_so
from memories.writing.remember import lock
from memories.writing.standing import Standing, loaded

# What history tells by the cause and the other memory of an event, or not at all.
BESIDE = ("status", "confirmed_at", "merged_into_id", "superseded_by_id", "user", "agent", "metadata")


@dataclass
class Held:
    """Some memories of one namespace, under its lock."""

    namespace: Namespace
    by: str
    now: datetime
    known: dict[UUID, Standing]

    def take(self, memory: UUID, among: Collection[Status] = (Status.ACTIVE,)) -> Standing:
        """Give a memory that stands where it must for what is about to happen."""
        standing = self.known.get(memory)
        if standing is None or standing.memory.status == Status.FORGOTTEN:
            raise AbsentError(memory)
        if standing.memory.status not in among:
            raise not_so(standing.memory)
        return standing

    def take_fact(self, memory: UUID) -> Standing:
        """Give an active memory that states something; a piece of a conversation does not."""
        standing = self.take(memory)
        if standing.memory.level != ChunkLevel.FACT:
            what = f"Memory {memory} is a {standing.memory.level} of a conversation and states nothing by itself."
            raise RefusedError(what, "not_a_fact")
        return standing

    def take_more(self, memories: Iterable[UUID]) -> list[Standing]:
        """Take further memories in hand, as they stand now."""
        wanted = list(memories)
        fresh = [memory for memory in wanted if memory not in self.known]
        self.known |= loaded(self.namespace, fresh, policy_of(self.namespace))
        return [self.known[memory] for memory in wanted]

    def file(self) -> None:
        """Write what became of the memories, and their history."""
        events = [event for one in self.known.values() for event in one.events]
        moved = {column for event in events for column in event.after}
        updated([one.memory for one in self.known.values()], sorted({*moved, *BESIDE}))
        ScoreEvent.objects.bulk_create(events)


@contextmanager
def held(namespace: Namespace, *memories: UUID, by: str) -> Iterator[Held]:
    """Hold memories under the lock of their namespace, and file what becomes of them."""
    with transaction.atomic():
        lock(namespace)
        known = loaded(namespace, memories, policy_of(namespace))
        hold = Held(namespace, by, namespace.now, known)
        yield hold
        hold.file()
