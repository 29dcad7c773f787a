"""The namespace lock, and stored memories loaded, changed and flushed under it."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from memories.models import Namespace, NamespaceStatistics, ReviewItem, ScoreEvent
from memories.models.choices import ChunkLevel, Status, Verdict
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.evidence import EvidenceState, load_evidence
from memories.writing.write_errors import NotFoundError, RefusedError, wrong_status_error
from memories.writing.write_policy import current_write_policy

# No sequential scans: a foreign key check caches its plan per connection, and one planned while a table was empty would
# scan it for the life of the connection.
LOCK_SQL = """
    UPDATE memories_namespacestatistics SET writes = writes + 1 WHERE namespace_id = %s
    RETURNING writes, set_config('enable_seqscan', 'off', true)
"""
# Columns that events record through their cause and other memory, or not at all.
UNRECORDED_STATE = ("status", "confirmed_at", "merged_into_id", "superseded_by_id", "user", "agent", "metadata")


def lock_namespace(namespace: Namespace) -> None:
    """Lock a namespace for writing through its statistics row, which also counts the writes."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_SQL, [namespace.id])
        if (row := cursor.fetchone()) is None:
            NamespaceStatistics.objects.get_or_create(namespace=namespace)
            cursor.execute(LOCK_SQL, [namespace.id])
            row = cursor.fetchone()
    namespace.writing = row[0]
    # The previous lock holder may have changed the embedder.
    namespace.refresh_from_db(fields=["embedder"])


@dataclass
class LockedMemories:
    """Memories of one namespace, loaded under its lock."""

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
        """Return an active fact, or raise; chunks and summaries are refused."""
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

    def record_verdict(
        self, state: EvidenceState, other: EvidenceState, verdict: Verdict, *, cosine: float, reason: str = ""
    ) -> ReviewItem:
        """Store the verdict on a pair; a later verdict replaces an earlier one."""
        first, second = sorted((state.memory.id, other.memory.id))
        updates = {"state": verdict, "decided_at": self.now, "decided_by": self.by}
        updates |= {"reason": reason} if reason else {}
        defaults = updates | {"cosine": min(max(cosine, -1.0), 1.0), "created_at": self.now}
        item, _ = ReviewItem.objects.update_or_create(
            namespace=self.namespace, first_id=first, second_id=second, defaults=updates, create_defaults=defaults
        )
        return item

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
