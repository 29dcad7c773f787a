"""Exchanges and sessions as memories: searchable like facts, but never merged, contradicted or counted as evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from django.db.models import Avg, Q
from django.db.models.functions import Coalesce

from memories.db.ids import uuid7
from memories.models import Memory, MemorySource, MemoryTag, MemoryVector, Namespace, ScoreEvent, Session, TokenStates
from memories.models.choices import ChunkLevel, Kind, MemoryType, Route, SourceLevel, Status
from memories.providers.token_matrix import TokenMatrix
from memories.text.topics import topic_tags
from memories.writing import search_index
from memories.writing.bulk_copy import copy_rows
from memories.writing.evidence import EvidenceState
from memories.writing.turns.exchanges import Exchange, render_turns
from memories.writing.write_policy import current_write_policy
from scoring.dedup import content_hash
from scoring.evidence import Evidence
from scoring.policy import WritePolicyParams
from scoring.term import Array

CHUNK_LEVELS = (ChunkLevel.TURN, ChunkLevel.SESSION)
# The user's next turn and the previous turn exist only per exchange.
SESSION_ROUTES = [route for route in Route if route not in (Route.NEXT_USER, Route.CONTEXT)]
# Vectors by (memory, route).
RouteVectors: TypeAlias = dict[tuple[UUID, Route], Array]


@dataclass(frozen=True, eq=False)
class ConversationChunk:
    """An exchange or session to store, with its new vectors."""

    memory: Memory
    vectors: dict[Route, Array]
    states: TokenMatrix | None = None


@dataclass
class ChunkBatch:
    """The chunks of one session, under the namespace lock."""

    namespace: Namespace
    session: Session
    by: str
    now: datetime
    policy: WritePolicyParams
    stored: dict[UUID | None, Memory]  # by first turn; None for the session's own chunk
    rows: dict[type[Any], list[Any]] = field(default_factory=dict)
    changed: list[Memory] = field(default_factory=list)
    chunks: list[ConversationChunk] = field(default_factory=list)

    @classmethod
    def load(cls, namespace: Namespace, session: Session, by: str, now: datetime) -> "ChunkBatch":
        """Load the existing chunks of a session."""
        rows = Memory.objects.within(namespace).filter(session_id=session.id, level__in=CHUNK_LEVELS)
        by_turn = {memory.turn_id: memory for memory in rows}
        return cls(namespace, session, by, now, current_write_policy(namespace), by_turn)

    def add_exchange(self, exchange: Exchange, vectors: dict[Route, Array], states: TokenMatrix | None) -> None:
        """Add an exchange, or the changes of a stored one."""
        if exchange.first.id not in self.stored and Route.FULL not in vectors:
            return  # stored before chunks existed: a next user turn alone does not create one
        content = render_turns(exchange.turns)
        memory = self._get_or_create(
            ChunkLevel.TURN, exchange.first.id, exchange.first.position, content, exchange.first.said_at
        )
        if memory.status == Status.ACTIVE:
            self._add_sources(memory, [turn.id for turn in exchange.turns])
            self.chunks.append(ConversationChunk(memory, vectors, states))

    def add_session(self, content: str) -> None:
        """Update the session's own chunk; its vectors are the means of its exchanges."""
        memory = self._get_or_create(ChunkLevel.SESSION, None, 0, content, self.session.started_at)
        if memory.status == Status.ACTIVE:
            self._add_sources(memory, [None])
            self.chunks.append(ConversationChunk(memory, {}))

    def flush(self) -> None:
        """Flush new chunks, postings, vectors and events."""
        changed_ids = [memory.id for memory in self.changed]
        search_index.remove_postings(self.namespace, changed_ids)
        Memory.objects.bulk_update(self.changed, ["content"])
        if self.stored:
            self._delete_stale(changed_ids)
        new_ids = [row.id for row in self.rows.get(Memory, [])]
        for chunk in self.chunks:
            self._add_vectors(chunk, changed=chunk.memory.id in {*new_ids, *changed_ids})
        for table in (Memory, MemoryVector, TokenStates, MemoryTag, ScoreEvent):
            copy_rows(table, self.rows.get(table, []))
        self._store_session_vectors()
        MemorySource.objects.bulk_create(self.rows.get(MemorySource, []), ignore_conflicts=True)
        search_index.index_postings(self.namespace, [*new_ids, *changed_ids])

    def _get_or_create(self, level: ChunkLevel, turn: UUID | None, position: int, content: str, at: datetime) -> Memory:
        memory = self.stored.get(turn)
        if memory is not None:
            if memory.content != content and memory.status == Status.ACTIVE:
                memory.content = content
                self.changed.append(memory)
            return memory
        memory = Memory(
            namespace=self.namespace,
            id=uuid7(),
            # Chunks have no type: queries for a type skip them.
            type=MemoryType.FACT,
            type_uncertain=True,
            level=level,
            kind=Kind.EPISODIC,
            content=content,
            # Hashed by position: equal text at two positions makes two chunks.
            content_hash=content_hash(level, str(self.session.id), str(position), ""),
            belief=self.policy.belief_start,
            created_at=self.now,
            happened_at=at,
            user=self.session.user,
            agent=self.session.agent,
            session_id=self.session.id,
            turn_id=turn,
        )
        state = EvidenceState(memory, Evidence(levels=frozenset({SourceLevel.DIRECT.value})), self.policy, set(), set())
        state.record(self.now, "stored", self.by, status=Status.ACTIVE)
        self._add(memory)
        self.rows.setdefault(ScoreEvent, []).extend(state.events)
        return memory

    def _delete_stale(self, changed: Sequence[UUID]) -> None:
        """Delete the rows that changed chunks replace, for every embedder; a facet without a new vector stays."""
        MemoryTag.objects.within(self.namespace).filter(memory_id__in=changed).delete()
        TokenStates.objects.within(self.namespace).filter(memory_id__in=changed).delete()
        stale = Q()
        for chunk in self.chunks:
            stale |= Q(memory_id=chunk.memory.id, route__in=list(chunk.vectors))
        MemoryVector.objects.within(self.namespace).filter(stale).delete()

    def _store_session_vectors(self) -> None:
        """Store the session chunk's vectors once those of its exchanges are stored."""
        for chunk in self.chunks:
            if chunk.memory.level == ChunkLevel.SESSION:
                vectors = mean_route_vectors(self.namespace, [chunk.memory.id], self.namespace.embedder)
                chunk.vectors.update({route: mean for (_, route), mean in vectors.items()})
                stale = MemoryVector.objects.within(self.namespace).filter(memory_id=chunk.memory.id)
                stale.filter(route__in=list(chunk.vectors)).delete()
                rows = [
                    search_index.vector_row(self.namespace, *key, mean, ChunkLevel.SESSION)
                    for key, mean in vectors.items()
                ]
                copy_rows(MemoryVector, rows)

    def _add_sources(self, memory: Memory, turns: Sequence[UUID | None]) -> None:
        for turn in turns:
            row = MemorySource(memory_id=memory.id, session_id=self.session.id, turn_id=turn, level=SourceLevel.DIRECT)
            row.strength, row.observed_at = self.policy.source_direct, self.now
            self._add(row)

    def _add_vectors(self, chunk: ConversationChunk, *, changed: bool) -> None:
        memory = chunk.memory
        for route, vector in chunk.vectors.items():
            self._add(search_index.vector_row(self.namespace, memory.id, route, vector, memory.level))
        if not changed:
            return
        for tag in topic_tags(memory.content):
            self._add(MemoryTag(memory_id=memory.id, tag=tag))
        if chunk.states is not None:
            embedder = self.namespace.embedder
            self._add(search_index.token_states_row(self.namespace, memory.id, embedder, chunk.states))

    def _add(self, row: Any) -> None:
        row.namespace = self.namespace
        self.rows.setdefault(type(row), []).append(row)


def mean_route_vectors(namespace: Namespace, chunks: Sequence[UUID], embedder: str) -> RouteVectors:
    """Mean vectors of session chunks over their active exchanges, or over hidden ones if none is active."""
    owned = Memory.objects.within(namespace).filter(id__in=chunks, session_id__isnull=False)
    owners = {session: chunk for chunk, session in owned.values_list("id", "session_id")}
    vectors = MemoryVector.objects.within(namespace).filter(
        memory__session_id__in=owners, level=ChunkLevel.TURN, embedder=embedder, route__in=SESSION_ROUTES
    )
    mean_vector = Coalesce(Avg("vector", filter=Q(active=True)), Avg("vector"))
    rows = vectors.values_list("memory__session_id", "route").annotate(mean=mean_vector)
    return {
        (owners[session], Route(route)): unit_vector(np.asarray(mean, dtype=float)) for session, route, mean in rows
    }


def unit_vector(vector: Array) -> Array:
    """A vector scaled to unit length; zero vectors are unchanged."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
