"""Resolving what a new memory names: entities, its subject, sessions and turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memories.contracts.new_memory import NewMemory, Utterance
from memories.db.ids import uuid7
from memories.models import Entity, Namespace, Session, Turn
from memories.models.graph import MAX_NAME_CHARS
from memories.text.entity_registry import EXACT, EntityRegistry
from memories.text.name_index import FoundNames, find_names, store_entities
from memories.writing.evidence import Origin, observation_origin
from scoring.dedup import fallback_subject, normalize
from scoring.policy import WritePolicyParams


class Observation(NamedTuple):
    """One utterance that states a memory: its session, and who or what said it."""

    utterance: Utterance
    session: UUID | None
    source: str

    @property
    def origin(self) -> Origin:
        """What tells it from other observations."""
        return observation_origin(self.session, self.source, self.utterance.turn, self.utterance.level)


@dataclass(frozen=True)
class ResolvedEntities:
    """The resolved entities of one memory: its subject or a fallback, its object, and all mentions with confidence."""

    subject: UUID | None
    subject_name: str
    fallback: UUID | None
    object: UUID | None
    entities: dict[UUID, float]

    @property
    def subject_key(self) -> UUID | None:
        """The key of its subject, resolved or not."""
        return self.subject or self.fallback

    def relation(self, predicate: str) -> tuple[UUID, UUID, float] | None:
        """The two entities joined by a predicate and their joint confidence; None if either is unknown."""
        if not (predicate and self.subject and self.object) or self.subject == self.object:
            return None
        return self.subject, self.object, self.entities[self.subject] * self.entities[self.object]


@dataclass
class EntityResolver:
    """The entities that a batch may mean, plus those it creates."""

    namespace: Namespace
    names: FoundNames
    now: datetime
    created: dict[str, Entity] = field(default_factory=dict)

    @classmethod
    def load(cls, namespace: Namespace, new_memories: Sequence[NewMemory], now: datetime) -> "EntityResolver":
        """Look up what memories name in their texts and columns."""
        surfaces = (name for new in new_memories for name in (new.subject, new.object, *new.entities))
        return cls(namespace, find_names(namespace, [new.content for new in new_memories], surfaces), now)

    @property
    def registry(self) -> EntityRegistry:
        """The entities that the batch may mean."""
        return self.names.registry

    def resolve_all(self, new_memories: Sequence[NewMemory]) -> list[ResolvedEntities]:
        """Resolve each memory, in order: one may name what an earlier one creates."""
        return [self.resolve_memory(memory) for memory in new_memories]

    def resolve_memory(self, memory: NewMemory) -> ResolvedEntities:
        """Resolve a memory's subject and mentions; unknown entities named by the caller are created."""
        entities = {match.entity_id: match.confidence for match in self.names.matches(memory.content)}
        for name in filter(is_valid_entity_name, memory.entities):
            entity, confidence = self._resolve(name) or self._resolve_ambiguous(name) or (self._create(name), 1.0)
            entities[entity] = max(confidence, entities.get(entity, 0.0))
        object_match = self._resolve(memory.object) if memory.object else None
        subject_match = self._resolve(memory.subject) if memory.subject else None
        for entity, confidence in filter(None, (subject_match, object_match)):
            entities[entity] = max(confidence, entities.get(entity, 0.0))
        return ResolvedEntities(
            subject=subject_match[0] if subject_match else None,
            subject_name=self._name_of(subject_match[0]) if subject_match else "",
            fallback=fallback_subject(memory.subject) if memory.subject and not subject_match else None,
            object=object_match[0] if object_match else None,
            entities=entities,
        )

    def flush(self) -> None:
        """Insert the new entities."""
        if self.created:
            store_entities(self.namespace, list(self.created.values()))

    def _resolve(self, surface: str) -> tuple[UUID, float] | None:
        if (created := self.created.get(normalize(surface))) is not None:
            return created.id, 1.0
        match = self.registry.resolve(surface)
        return (match.entity_id, match.confidence) if match else None

    def _resolve_ambiguous(self, name: str) -> tuple[UUID, float] | None:
        """Of several exact matches, the one without a kind, else the oldest."""
        exact = [match for match in self.registry.candidates(name, fuzzy=False) if match.confidence == EXACT]
        if not exact:
            return None
        return min((bool(self.registry.kinds[match.entity_id]), match.entity_id) for match in exact)[1], EXACT

    def _create(self, name: str) -> UUID:
        entity = Entity(namespace=self.namespace, id=uuid7(), name=name, normalised=normalize(name))
        entity.registered, entity.created_at = False, self.now
        return self.created.setdefault(normalize(name), entity).id

    def _name_of(self, entity: UUID) -> str:
        created_name = next((created.name for created in self.created.values() if created.id == entity), None)
        return created_name or self.registry.display_names[entity]


def is_valid_entity_name(name: str) -> bool:
    """Whether a text can be an entity name; extractors may produce invalid ones."""
    return 0 < len(normalize(name)) <= MAX_NAME_CHARS >= len(name)


def get_or_create_sessions(
    namespace: Namespace, new_memories: Sequence[NewMemory], now: datetime
) -> dict[tuple[str, str], UUID]:
    """The sessions of a batch by user and key; missing ones are created."""
    agents = {(new.user, new.session): new.agent for new in new_memories if new.session}
    stored = Session.objects.within(namespace).filter(key__in={key for _, key in agents})
    known = {(session.user, session.key): session.id for session in stored}
    missing = [
        Session(namespace=namespace, user=user, key=key, agent=agent, started_at=now)
        for (user, key), agent in agents.items()
        if (user, key) not in known
    ]
    Session.objects.bulk_create(missing)
    return known | {(session.user, session.key): session.id for session in missing}


def observations(
    namespace: Namespace,
    new_memories: Sequence[NewMemory],
    sessions: Mapping[tuple[str, str], UUID],
    policy: WritePolicyParams,
) -> list[list[Observation]]:
    """The observations of each memory: of a turn in its own session, otherwise in the memory's.

    The source is the first known of these: the given one, the user, the speaker, the agent. An assistant's turn counts
    as its user's: what it repeats is no independent evidence.
    """
    turns = {utterance.turn for new in new_memories for utterance in new.utterances if utterance.turn}
    columns = ("id", "session_id", "session__user", "speaker", "session__agent")
    rows = Turn.objects.within(namespace).filter(id__in=turns).values_list(*columns) if turns else ()
    spoken = {turn: about for turn, *about in rows}

    def observe(new: NewMemory, utterance: Utterance) -> Observation:
        if not utterance.level:
            utterance = replace(utterance, level=policy.source_default)
        own_session = sessions.get((new.user, new.session))
        session, user, speaker, agent = spoken.get(utterance.turn, (own_session, "", "", ""))
        named = (new.source, user, new.user, speaker, new.agent, agent)
        return Observation(utterance, session, next(filter(None, named), ""))

    return [[observe(new, utterance) for utterance in new.utterances or (Utterance(""),)] for new in new_memories]
