"""The demo world told again, session by session, through the one way in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memories.demo.world_records import Memory, Session, Unresolved, World
from memories.ids import replayed
from memories.models import Entity, EntityAlias, Namespace
from memories.models.choices import EdgeKind, TurnRole
from memories.writing.correct import correct_memory
from memories.writing.feedback import confirm_memory, contradict_memories
from memories.writing.link import link_memories, relate_entities
from memories.writing.locked_memories import lock_memories
from memories.writing.new_memory import NewMemory, Utterance
from memories.writing.remember import remember
from memories.writing.supersede import due_supersessions, finish_supersessions
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest
from scoring.dedup import normalize

BY = "demo"


@dataclass
class Telling:
    """What has been told so far, and the rows that stand for it."""

    namespace: Namespace
    world: World
    entities: dict[str, Entity] = field(default_factory=dict)
    turns: dict[str, UUID] = field(default_factory=dict)
    memories: dict[str, UUID] = field(default_factory=dict)  # for an absorbed one, that which absorbed it

    def everything(self) -> None:
        """Tell all sessions and confirmations in the order in which they came."""
        steps: list[tuple[datetime, Session | Memory]]
        steps = [(session.ended_at, session) for session in self.world.sessions.values()]
        steps += [(memory.confirmed_at, memory) for memory in self.world.memories.values() if memory.confirmed_at]
        for moment, one in sorted(steps, key=lambda step: step[0]):
            with self.at(moment, one.key):
                if isinstance(one, Session):
                    self.session(one)
                else:
                    confirm_memory(self.namespace, self.memories[one.key], by=BY)

    @contextmanager
    def at(self, moment: datetime, name: str) -> Iterator[None]:
        """Set the namespace's clock, for all that is written and for the identifiers of it."""
        self.namespace.clock = moment
        with replayed(moment, name):
            yield

    def session(self, session: Session) -> None:
        """Hear a conversation, and write down all that follows from it when it is over."""
        self.introduce(session)
        self.listen(session)
        self.learn(session)
        self.connect(session)

    def introduce(self, session: Session) -> None:
        """Make the entities that are first heard of."""
        for entity in self.world.entities.values():
            if self.world.first_named[entity.key] != session.key:
                continue
            row = Entity(namespace=self.namespace, name=entity.name, kind=entity.kind, created_at=session.ended_at)
            row.normalised = normalize(entity.name)
            row.save(force_insert=True)
            EntityAlias.objects.bulk_create(
                EntityAlias(entity=row, name=alias, normalised=normalize(alias)) for alias in entity.aliases
            )
            self.entities[entity.key] = row

    def listen(self, session: Session) -> None:
        """Store the turns and their chunks; the memories are told apart, so none are read out of them."""
        names = {TurnRole.USER: self.world.entities[session.user].name}
        turns = [
            NewTurn(role=turn.role, text=turn.text, speaker=names.get(TurnRole(turn.role), ""), said_at=turn.at)
            for turn in session.turns
        ]
        said = Conversation(session=session.key, user=session.user, title=session.title, turns=turns)
        heard = ingest(self.namespace, said, by=BY, extract=False)
        self.turns |= {turn.key: row.id for turn, row in zip(session.turns, heard.turns, strict=True)}

    def learn(self, session: Session) -> None:
        """Let corrections take the place of what they correct; then remember what else is new, or said again."""
        told = [memory for memory in self.world.memories.values() if memory.session == session.key]
        for memory in told:
            if wrong := self.world.corrections.get(memory.key):
                outcome, _ = correct_memory(self.namespace, self.memories[wrong], vars(self.new(memory)), by=BY)
                self.memories[memory.key] = outcome.memory.id
        fresh = [memory for memory in told if memory.key not in self.world.corrections]
        again = [memory for memory in self.world.memories.values() if session.key in memory.observed]
        news = [*map(self.new, fresh), *(self.retold(memory, session) for memory in again)]
        outcomes = remember(self.namespace, news, by=BY)
        self.memories |= {memory.key: outcome.memory.id for memory, outcome in zip(fresh, outcomes, strict=False)}

    def conclude(self) -> None:
        """Supersede what was corrected as of a day that has come."""
        with lock_memories(
            self.namespace, *due_supersessions(self.namespace).order_by("id").values_list("id", flat=True), by=BY
        ) as hold:
            finish_supersessions(hold)

    def connect(self, session: Session) -> None:
        """Draw what edges can be drawn only now, because one of their ends is new."""
        for edge in self.world.edges:
            ends = [self.world.first_named[key] for key in (edge.source, edge.target)]
            if max(ends, key=lambda key: self.world.sessions[key].ended_at) == session.key:
                source, target = self.entities[edge.source], self.entities[edge.target]
                relate_entities(self.namespace, source, edge.predicate, target, edge.confidence)
        for bond in self.world.links:
            ends = [self.world.memories[key].session for key in (bond.source, bond.target)]
            if max(ends, key=lambda key: self.world.sessions[key].ended_at) != session.key:
                continue
            one, other = self.memories[bond.source], self.memories[bond.target]
            if bond.kind == EdgeKind.CONTRADICTION:
                contradict_memories(self.namespace, one, other, reason="", by=BY)
            elif bond.kind in EdgeKind.values:
                link_memories(self.namespace, one, other, EdgeKind(bond.kind), weight=1.0, by=BY)

    def new(self, memory: Memory) -> NewMemory:
        """A memory as a caller would ask for it."""
        named = self.world.entities.get(memory.object or "")
        subject = memory.subject
        return NewMemory(
            content=memory.content,
            type=memory.type,
            subject=subject.surface if isinstance(subject, Unresolved) else self.world.entities[subject].name,
            predicate=memory.predicate,
            object=named.name if named else memory.object or "",
            utterances=tuple(Utterance(source.level, self.turns[source.turn]) for source in memory.sources),
            model=memory.extractor.model,
            logprobs=memory.extractor.logprobs,
            entities=tuple(self.world.entities[key].name for key in memory.entities),
            tags=memory.tags,
            kind=memory.kind,
            user=memory.user,
            session=memory.session,
            evidence=memory.evidence,
            importance=memory.importance,
            quality=memory.quality,
            provenance_depth=memory.provenance_depth,
            happened_at=self.world.turns[memory.sources[0].turn].at,
            event_at=memory.event_at,
            valid_from=memory.valid_from,
            valid_until=memory.valid_until,
        )

    def retold(self, memory: Memory, session: Session) -> NewMemory:
        """A memory as another session says it again, in passing."""
        standing = next(key for key, row in self.memories.items() if row == self.memories[memory.key])
        new = self.new(self.world.memories[standing])
        said = tuple(Utterance(one.level) for one in new.utterances)
        return replace(new, user=session.user, session=session.key, utterances=said)
