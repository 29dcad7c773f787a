"""Stored memories locked, loaded, changed and flushed in one transaction."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, ScoreEvent
from memories.models.choices import ChunkLevel, Status
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.evidence import EvidenceState, load_evidence
from memories.writing.remember import lock_namespace
from memories.writing.write_errors import NotFoundError, RefusedError, wrong_status_error
from memories.writing.write_policy import current_write_policy

# Columns that events record through their cause and other memory, or not at all.
UNRECORDED_STATE = ("status", "confirmed_at", "merged_into_id", "superseded_by_id", "user", "agent", "metadata")


@dataclass
class LockedMemories:
    """Some memories of one namespace, held under its lock."""

    namespace: Namespace
    by: str
    now: datetime
    known: dict[UUID, EvidenceState]

    def get(self, memory: UUID, allowed: Collection[Status] = (Status.ACTIVE,)) -> EvidenceState:
        """Return a memory whose status allows the operation, or raise."""
        state = self.known.get(memory)
        if state is None or state.memory.status == Status.FORGOTTEN:
            raise NotFoundError(memory)
        if state.memory.status not in allowed:
            raise wrong_status_error(state.memory)
        return state

    def get_fact(self, memory: UUID) -> EvidenceState:
        """Return an active fact, or raise; a chunk of a conversation states nothing."""
        state = self.get(memory)
        if state.memory.level != ChunkLevel.FACT:
            message = f"Memory {memory} is a {state.memory.level} of a conversation and not a fact."
            raise RefusedError(message, "not_a_fact")
        return state

    def load_more(self, memories: Iterable[UUID]) -> list[EvidenceState]:
        """Load further memories under the same lock."""
        ids = list(memories)
        missing = [memory for memory in ids if memory not in self.known]
        self.known |= load_evidence(self.namespace, missing, current_write_policy(self.namespace))
        return [self.known[memory] for memory in ids]

    def flush(self) -> None:
        """Write the changed columns and the events."""
        events = [event for state in self.known.values() for event in state.events]
        columns = {column for event in events for column in event.after}
        bulk_update_columns([state.memory for state in self.known.values()], sorted({*columns, *UNRECORDED_STATE}))
        ScoreEvent.objects.bulk_create(events)


@contextmanager
def lock_memories(namespace: Namespace, *memories: UUID, by: str) -> Iterator[LockedMemories]:
    """Lock a namespace, load memories, and flush their changes on exit."""
    with transaction.atomic():
        lock_namespace(namespace)
        known = load_evidence(namespace, memories, current_write_policy(namespace))
        locked = LockedMemories(namespace, by, namespace.now, known)
        yield locked
        locked.flush()
