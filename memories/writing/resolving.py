"""Whom a memory is about: names become entities, sessions become rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.ids import uuid7
from memories.language.entities import Found, entities_in
from memories.language.loading import load
from memories.language.resolution import EXACT, Registry
from memories.models import Entity, Namespace, Session
from memories.models.graph import LONGEST_NAME
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import Prepared
from scoring.dedup import fallback_subject, normalize


@dataclass(frozen=True)
class Named:
    """The entities of one memory: its subject, or what stands in for it, and all it mentions with how sure that is."""

    subject: UUID | None
    subject_name: str
    fallback: UUID | None
    object: UUID | None
    entities: dict[UUID, float]

    @property
    def key(self) -> UUID | None:
        """What tells its subject apart, resolved or not."""
        return self.subject or self.fallback

    def relation(self, predicate: str) -> tuple[UUID, UUID, float] | None:
        """The two entities that a predicate joins, and how surely they are meant; nothing where one is unknown."""
        if not (predicate and self.subject and self.object) or self.subject == self.object:
            return None
        return self.subject, self.object, self.entities[self.subject] * self.entities[self.object]


@dataclass
class Names:
    """The entities of a namespace, and those a batch adds."""

    namespace: Namespace
    registry: Registry
    now: datetime
    new: dict[str, Entity] = field(default_factory=dict)

    @classmethod
    def of(cls, namespace: Namespace, now: datetime) -> "Names":
        """Read the registry."""
        return cls(namespace, load(namespace), now)

    def found_in(self, ready: Prepared) -> Sequence[list[Found]]:
        """The entities that texts name; looked for again where others were made since."""
        if ready.registry is self.registry:
            return ready.named
        return [entities_in(new.content, self.registry) for new in ready.news]

    def of_memory(self, memory: NewMemory, named: Sequence[Found]) -> Named:
        """Resolve a memory's subject and mentions; entities the caller names are made where they are unknown."""
        found = {match.entity_id: match.confidence for match in named}
        for name in filter(nameable, memory.entities):
            entity, sure = self._resolved(name) or self._chosen(name) or (self._made(name), 1.0)
            found[entity] = max(sure, found.get(entity, 0.0))
        target = self._resolved(memory.object) if memory.object else None
        subject = self._resolved(memory.subject) if memory.subject else None
        for one in filter(None, (subject, target)):
            found[one[0]] = max(one[1], found.get(one[0], 0.0))
        return Named(
            subject=subject[0] if subject else None,
            subject_name=self._name(subject[0]) if subject else "",
            fallback=fallback_subject(memory.subject) if memory.subject and not subject else None,
            object=target[0] if target else None,
            entities=found,
        )

    def file(self) -> None:
        """Store the entities that are new."""
        Entity.objects.bulk_create(self.new.values())

    def _resolved(self, surface: str) -> tuple[UUID, float] | None:
        if (made := self.new.get(normalize(surface))) is not None:
            return made.id, 1.0
        match = self.registry.resolve(surface)
        return (match.entity_id, match.confidence) if match else None

    def _chosen(self, name: str) -> tuple[UUID, float] | None:
        """Of several entities of exactly this name the one without a kind, else the oldest."""
        exact = [match for match in self.registry.candidates(name, loosely=False) if match.confidence == EXACT]
        if not exact:
            return None
        return min((bool(self.registry.kinds[match.entity_id]), match.entity_id) for match in exact)[1], EXACT

    def _made(self, name: str) -> UUID:
        entity = Entity(namespace=self.namespace, id=uuid7(), name=name, normalised=normalize(name))
        entity.registered, entity.created_at = False, self.now
        return self.new.setdefault(normalize(name), entity).id

    def _name(self, entity: UUID) -> str:
        made = next((one.name for one in self.new.values() if one.id == entity), None)
        return made or self.registry.titles[entity]


def nameable(name: str) -> bool:
    """Whether an entity can have this name; who reads names out of a text may find others."""
    return 0 < len(normalize(name)) <= LONGEST_NAME >= len(name)


def sessions_of(namespace: Namespace, news: Sequence[NewMemory], now: datetime) -> dict[tuple[str, str], UUID]:
    """The sessions a batch speaks of, by user and key; unknown ones are made."""
    wanted = {(new.user, new.session): new.agent for new in news if new.session}
    stored = Session.objects.within(namespace).filter(key__in={key for _, key in wanted})
    known = {(one.user, one.key): one.id for one in stored}
    fresh = [
        Session(namespace=namespace, user=user, key=key, agent=agent, started_at=now)
        for (user, key), agent in wanted.items()
        if (user, key) not in known
    ]
    Session.objects.bulk_create(fresh)
    return known | {(one.user, one.key): one.id for one in fresh}
