"""Exchanges and sessions as memories: found like facts, but never merged, doubted or counted as evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from memories.extracting.topics import topics
from memories.ids import uuid7
from memories.models import Memory, MemorySource, MemoryTag, MemoryVector, Namespace, ScoreEvent, Session, TokenStates
from memories.models.choices import ChunkLevel, Kind, MemoryType, Route, SourceLevel, Status
from memories.providers.token_matrix import TokenMatrix
from memories.turns.exchanges import Exchange, shown
from memories.turns.means import means
from memories.writing import words
from memories.writing.copying import copied
from memories.writing.policy import policy_of
from memories.writing.standing import Standing
from scoring.dedup import content_hash
from scoring.evidence import Evidence
from scoring.policy import WritePolicy
from scoring.term import Array

CHUNKS = (ChunkLevel.TURN, ChunkLevel.SESSION)


@dataclass(frozen=True, eq=False)
class Chunk:
    """One exchange or session as it shall stand, and the vectors that are new."""

    memory: Memory
    vectors: dict[Route, Array]
    states: TokenMatrix | None = None


@dataclass
class Shelf:
    """The chunks of one session, under the lock of its namespace."""

    namespace: Namespace
    session: Session
    by: str
    now: datetime
    policy: WritePolicy
    stored: dict[UUID | None, Memory]  # by the turn each begins with; the session's own by none
    rows: dict[type[Any], list[Any]] = field(default_factory=dict)
    changed: list[Memory] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)

    @classmethod
    def of(cls, namespace: Namespace, session: Session, by: str, now: datetime) -> "Shelf":
        """Read the chunks that a session has."""
        found = Memory.objects.within(namespace).filter(session_id=session.id, level__in=CHUNKS)
        stored = {memory.turn_id: memory for memory in found}
        return cls(namespace, session, by, now, policy_of(namespace), stored)

    def exchange(self, one: Exchange, vectors: dict[Route, Array], states: TokenMatrix | None) -> None:
        """Put an exchange on the shelf, or what is new of one that stands there."""
        if one.first.id not in self.stored and Route.FULL not in vectors:
            return  # stored before there were chunks: what the user said next is no reason to make one
        content = shown(one.turns)
        memory = self._memory(ChunkLevel.TURN, one.first.id, one.first.position, content, one.first.said_at)
        if memory.status == Status.ACTIVE:
            self._sources(memory, [turn.id for turn in one.turns])
            self.chunks.append(Chunk(memory, vectors, states))

    def whole(self, content: str) -> None:
        """Keep the session's own chunk current; its vectors follow from those of all its exchanges."""
        memory = self._memory(ChunkLevel.SESSION, None, 0, content, self.session.started_at)
        if memory.status == Status.ACTIVE:
            self._sources(memory, [None])
            self.chunks.append(Chunk(memory, {}))

    def file(self) -> None:
        """Write everything: new chunks, the words and vectors of all, their history."""
        changed = [memory.id for memory in self.changed]
        words.unindex(self.namespace, changed)
        Memory.objects.bulk_update(self.changed, ["content"])
        if self.stored:
            self._clear(changed)
        made = [row.id for row in self.rows.get(Memory, [])]
        for chunk in self.chunks:
            self._vectors(chunk, tagged=chunk.memory.id in {*made, *changed})
        for table in (Memory, MemoryVector, TokenStates, MemoryTag, ScoreEvent):
            copied(table, self.rows.get(table, []))
        self._middle()
        MemorySource.objects.bulk_create(self.rows.get(MemorySource, []), ignore_conflicts=True)
        words.index(self.namespace, [*made, *changed])

    def _memory(self, level: ChunkLevel, turn: UUID | None, position: int, content: str, at: datetime) -> Memory:
        memory = self.stored.get(turn)
        if memory is not None:
            if memory.content != content and memory.status == Status.ACTIVE:
                memory.content = content
                self.changed.append(memory)
            return memory
        memory = Memory(
            namespace=self.namespace,
            id=uuid7(),
            # What people say is of no type, so a question for one type passes it by.
            type=MemoryType.FACT,
            type_uncertain=True,
            level=level,
            kind=Kind.EPISODIC,
            content=content,
            # A chunk is known by its place, so that the same words at two places are two chunks.
            content_hash=content_hash(level, str(self.session.id), str(position), ""),
            belief=self.policy.belief_start,
            created_at=self.now,
            happened_at=at,
            user=self.session.user,
            agent=self.session.agent,
            session_id=self.session.id,
            turn_id=turn,
        )
        standing = Standing(memory, Evidence(levels=frozenset({SourceLevel.DIRECT.value})), self.policy, set(), set())
        standing.settle(self.now, "stored", self.by, status=Status.ACTIVE)
        self._add(memory)
        self.rows.setdefault(ScoreEvent, []).extend(standing.events)
        return memory

    def _clear(self, changed: Sequence[UUID]) -> None:
        """Take away what stored chunks get anew; a facet that an exchange had stays until it has another.

        What an embedder that comes or goes has made of them is as stale.
        """
        MemoryTag.objects.within(self.namespace).filter(memory_id__in=changed).delete()
        TokenStates.objects.within(self.namespace).filter(memory_id__in=changed).delete()
        stale = Q()
        for chunk in self.chunks:
            stale |= Q(memory_id=chunk.memory.id, route__in=list(chunk.vectors))
        MemoryVector.objects.within(self.namespace).filter(stale).delete()

    def _middle(self) -> None:
        """Give the session's own chunk its vectors, once those of the exchanges are stored."""
        for chunk in self.chunks:
            if chunk.memory.level == ChunkLevel.SESSION:
                found = means(self.namespace, [chunk.memory.id], self.namespace.embedder)
                chunk.vectors.update({route: vector for (_, route), vector in found.items()})
                old = MemoryVector.objects.within(self.namespace).filter(memory_id=chunk.memory.id)
                old.filter(route__in=list(chunk.vectors)).delete()
                rows = [vector_row(self.namespace, *key, vector, ChunkLevel.SESSION) for key, vector in found.items()]
                copied(MemoryVector, rows)

    def _sources(self, memory: Memory, turns: Sequence[UUID | None]) -> None:
        for turn in turns:
            row = MemorySource(memory_id=memory.id, session_id=self.session.id, turn_id=turn, level=SourceLevel.DIRECT)
            row.strength, row.observed_at = self.policy.source_direct, self.now
            self._add(row)

    def _vectors(self, chunk: Chunk, *, tagged: bool) -> None:
        memory = chunk.memory
        for route, vector in chunk.vectors.items():
            self._add(vector_row(self.namespace, memory.id, route, vector, memory.level))
        if not tagged:
            return
        for tag in topics(memory.content):
            self._add(MemoryTag(memory_id=memory.id, tag=tag))
        if chunk.states is not None:
            states = TokenStates(memory_id=memory.id, embedder=self.namespace.embedder, packed=chunk.states.packed)
            states.tokens, states.scale = chunk.states.tokens, chunk.states.scale
            self._add(states)

    def _add(self, row: Any) -> None:
        row.namespace = self.namespace
        self.rows.setdefault(type(row), []).append(row)


def vector_row(
    namespace: Namespace, memory: UUID, route: Route, vector: Array, level: str = ChunkLevel.FACT
) -> MemoryVector:
    """One vector of a memory."""
    return MemoryVector(
        namespace=namespace,
        memory_id=memory,
        route=route,
        embedder=namespace.embedder,
        vector=vector,
        level=level,
        written=namespace.writing,
    )
