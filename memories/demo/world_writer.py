"""Writes the demo world session by session through the write path."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from memories.contracts.new_memory import NewMemory, Utterance
from memories.db.ids import replay_ids
from memories.demo.world_records import DemoDocument, DemoMemory, DemoSession, DemoWorld, UnresolvedSubject
from memories.models import Entity, EntityAlias, MemoryEdge, Namespace
from memories.models.choices import EdgeKind, TurnRole
from memories.text.name_index import store_entities
from memories.writing.correct import correct_memory
from memories.writing.feedback import confirm_memory, contradict_memories
from memories.writing.link import link_memories, relate_entities
from memories.writing.lock import lock_memories
from memories.writing.remember import remember
from memories.writing.supersede import due_supersessions, finish_supersessions
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from scoring.dedup import normalize

BY = "demo"


@dataclass
class WorldWriter:
    """A world, the namespace it is written to, and the rows of each key so far."""

    namespace: Namespace
    world: DemoWorld
    entities: dict[str, Entity] = field(default_factory=dict)
    turns: dict[str, UUID] = field(default_factory=dict)
    memories: dict[str, UUID] = field(default_factory=dict)  # a merged memory maps to the one that absorbed it

    def write_sessions(self) -> None:
        """Write sessions, documents and confirmations in chronological order."""
        memories = self.world.memories.values()
        steps: list[tuple[datetime, str, Callable[[], object]]]
        steps = [
            (session.ended_at, session.key, partial(self.write_session, session))
            for session in self.world.sessions.values()
        ]
        steps += [
            (document.at, f"{memory.key} {document.source}", partial(self.read_document, memory, document))
            for memory in memories
            for document in memory.documents
        ]
        steps += [
            (memory.confirmed_at, memory.key, partial(self.confirm, memory))
            for memory in memories
            if memory.confirmed_at
        ]
        for timestamp, name, write in sorted(steps, key=lambda step: step[0]):
            with self.clock_at(timestamp, name):
                write()

    def confirm(self, memory: DemoMemory) -> None:
        """Confirm a memory."""
        confirm_memory(self.namespace, self.memories[memory.key], by=BY)

    def read_document(self, memory: DemoMemory, document: DemoDocument) -> None:
        """Remember what a document states, outside any session."""
        said: dict[str, Any] = {
            "utterances": (Utterance("direct"),),
            "user": "",
            "session": "",
            "source": document.source,
        }
        remember(self.namespace, [replace(self.new_memory(memory), **said)], by=BY)

    @contextmanager
    def clock_at(self, timestamp: datetime, name: str) -> Iterator[None]:
        """Set the namespace's clock and derive new ids from it and the name."""
        self.namespace.clock = timestamp
        with replay_ids(timestamp, name):
            yield

    def write_session(self, session: DemoSession) -> None:
        """Write a session with its entities, turns, memories and edges."""
        self.add_entities(session)
        self.ingest_turns(session)
        self.remember_session(session)
        self.add_edges(session)

    def add_entities(self, session: DemoSession) -> None:
        """Create the entities that the session mentions first."""
        for entity in self.world.entities.values():
            if self.world.first_session_of[entity.key] != session.key:
                continue
            row = Entity(namespace=self.namespace, name=entity.name, kind=entity.kind, created_at=session.ended_at)
            row.normalised = normalize(entity.name)
            aliases = [EntityAlias(entity=row, name=alias, normalised=normalize(alias)) for alias in entity.aliases]
            store_entities(self.namespace, [row], aliases)
            self.entities[entity.key] = row

    def ingest_turns(self, session: DemoSession) -> None:
        """Store the turns and their chunks, without extraction: the memories are records of their own."""
        names = {TurnRole.USER: self.world.entities[session.user].name}
        turns = [
            NewTurn(role=turn.role, text=turn.text, speaker=names.get(TurnRole(turn.role), ""), said_at=turn.at)
            for turn in session.turns
        ]
        conversation = Conversation(session=session.key, user=session.user, title=session.title, turns=turns)
        ingested = ingest(self.namespace, conversation, by=BY, extract=False)
        self.turns |= {turn.key: row.id for turn, row in zip(session.turns, ingested.turns, strict=True)}

    def remember_session(self, session: DemoSession) -> None:
        """Apply the session's corrections, then remember its other memories and those it repeats."""
        memories = [memory for memory in self.world.memories.values() if memory.session == session.key]
        for memory in memories:
            if corrected := self.world.corrections.get(memory.key):
                outcome, _ = correct_memory(
                    self.namespace, self.memories[corrected], vars(self.new_memory(memory)), by=BY
                )
                self.memories[memory.key] = outcome.memory.id
        fresh = [memory for memory in memories if memory.key not in self.world.corrections]
        repeated = [memory for memory in self.world.memories.values() if session.key in memory.observed]
        batch = [*map(self.new_memory, fresh), *(self.repeated_memory(memory, session) for memory in repeated)]
        outcomes = remember(self.namespace, batch, by=BY)
        self.memories |= {memory.key: outcome.memory.id for memory, outcome in zip(fresh, outcomes, strict=False)}

    def finish_corrections(self) -> None:
        """Supersede the memories whose correction has started."""
        due = due_supersessions(self.namespace).order_by("id").values_list("id", flat=True)
        with lock_memories(self.namespace, *due, by=BY) as locked:
            finish_supersessions(locked)

    def add_edges(self, session: DemoSession) -> None:
        """Add the edges whose later end belongs to this session."""
        for edge in self.world.edges:
            if self.last_of(*(self.world.first_session_of[key] for key in (edge.source, edge.target))) == session.key:
                source, target = self.entities[edge.source], self.entities[edge.target]
                relate_entities(self.namespace, source, edge.predicate, target, edge.confidence)
        for link in self.world.links:
            if self.last_of(*(self.world.memories[key].session for key in (link.source, link.target))) != session.key:
                continue
            pair = self.memories[link.source], self.memories[link.target]
            if link.kind == EdgeKind.CONTRADICTION:
                later, earlier = max(pair), min(pair)
                edges = MemoryEdge.objects.within(self.namespace).filter(source_id=later, target_id=earlier)
                # Nobody confirms what the rules found on arrival.
                if not edges.filter(kind=link.kind).exists():
                    contradict_memories(self.namespace, *pair, reason="", by=BY)
            elif link.kind in EdgeKind.values:
                link_memories(self.namespace, *pair, EdgeKind(link.kind), weight=1.0, by=BY)

    def last_of(self, *sessions: str) -> str:
        """The session that ended last."""
        return max(sessions, key=lambda key: self.world.sessions[key].ended_at)

    def new_memory(self, memory: DemoMemory) -> NewMemory:
        """A memory as a caller of the API would send it."""
        object_entity = self.world.entities.get(memory.object or "")
        subject = memory.subject
        return NewMemory(
            content=memory.content,
            type=memory.type,
            subject=subject.surface if isinstance(subject, UnresolvedSubject) else self.world.entities[subject].name,
            predicate=memory.predicate,
            object=object_entity.name if object_entity else memory.object or "",
            utterances=tuple(Utterance(source.level, self.turns[source.turn]) for source in memory.sources),
            model=memory.extractor.model,
            logprobs=memory.extractor.logprobs,
            entities=tuple(self.world.entities[key].name for key in memory.entities),
            tags=memory.tags,
            kind=memory.kind,
            user=memory.user,
            session=memory.session,
            source=memory.source,
            evidence=memory.evidence,
            importance=memory.importance,
            quality=memory.quality,
            provenance_depth=memory.provenance_depth,
            happened_at=self.world.turns[memory.sources[0].turn].at,
            event_at=memory.event_at,
            valid_from=memory.valid_from,
            valid_until=memory.valid_until,
        )

    def repeated_memory(self, memory: DemoMemory, session: DemoSession) -> NewMemory:
        """A memory as another session repeats it, without naming a turn."""
        absorbing = next(key for key, row in self.memories.items() if row == self.memories[memory.key])
        new = self.new_memory(self.world.memories[absorbing])
        utterances = tuple(Utterance(utterance.level) for utterance in new.utterances)
        return replace(new, user=session.user, session=session.key, source="", utterances=utterances)
