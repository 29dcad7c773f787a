"""The desk a batch is written at: what is known of the namespace, what is new, and what will be filed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.utils import timezone

from memories.ids import uuid7
from memories.models import (
    Memory,
    MemoryEdge,
    MemorySource,
    MemoryTag,
    MemoryVector,
    Mention,
    Namespace,
    ReviewItem,
    ScoreEvent,
)
from memories.models.choices import EdgeKind, MemoryType, Route, Status
from memories.writing import words
from memories.writing.copying import copied
from memories.writing.neighbours import Neighbour, nearest
from memories.writing.new_memory import NewMemory
from memories.writing.policy import policy_of
from memories.writing.resolving import Named, Names, sessions_of
from memories.writing.standing import TRACKED, Origin, Standing, loaded
from scoring.dedup import content_hash
from scoring.evidence import Grounding
from scoring.policy import WritePolicy
from scoring.term import Array


@dataclass
class Desk:
    """One batch of one namespace, under the lock of its statistics."""

    namespace: Namespace
    policy: WritePolicy
    by: str
    now: datetime
    news: Sequence[NewMemory]
    vectors: Array
    named: list[Named]
    sessions: dict[tuple[str, str], UUID]
    near: list[list[Neighbour]]
    known: dict[UUID, Standing]
    by_hash: dict[bytes, Standing]
    placed: dict[int, Standing] = field(default_factory=dict)
    rows: dict[type[Any], list[Any]] = field(default_factory=dict)

    @classmethod
    def opened(cls, namespace: Namespace, news: Sequence[NewMemory], vectors: Array, by: str) -> Self:
        """Read all that the batch needs, a fixed number of questions for any number of memories."""
        now = namespace.clock or timezone.now()
        policy, near = policy_of(namespace), nearest(namespace, vectors)
        names = Names.of(namespace, now)
        named = [names.of_memory(new) for new in news]
        names.file()
        hashes = [hash_of(new, whom) for new, whom in zip(news, named, strict=True)]
        twins = Memory.objects.within(namespace).filter(status=Status.ACTIVE, content_hash__in=hashes)
        close = {one.memory for found in near for one in found if one.cosine >= least_of(policy)}
        ids = close | set(twins.values_list("id", flat=True))
        known = loaded(namespace, ids, policy)
        by_hash = {bytes(one.memory.content_hash): one for one in known.values()}
        sessions = sessions_of(namespace, news, now)
        return cls(namespace, policy, by, now, news, vectors, named, sessions, near, known, by_hash)

    def origin(self, place: int) -> Origin:
        """What tells this observation apart: its session, else its source."""
        new = self.news[place]
        return self.sessions.get((new.user, new.session)), new.source

    def weighed(self, place: int, grounding: Grounding) -> Standing:
        """A new memory with the evidence it comes with, not yet stored."""
        new, whom = self.news[place], self.named[place]
        memory = Memory(
            namespace=self.namespace,
            id=uuid7(),
            type=MemoryType.FACT if new.uncertain else new.type,
            type_uncertain=new.uncertain,
            kind=new.kind,
            content=new.content,
            content_hash=hash_of(new, whom),
            subject_id=whom.subject,
            subject_surface=new.subject,
            subject_fallback=whom.fallback,
            predicate=new.predicate,
            object=new.object,
            evidence=new.evidence,
            metadata=new.metadata,
            belief=self.policy.belief_start,
            importance=new.importance,
            quality=new.quality,
            memory_score=new.memory_score,
            provenance_depth=new.provenance_depth,
            created_at=new.created_at or self.now,
            happened_at=new.happened_at or new.created_at or self.now,
            event_at=new.event_at,
            event_until=new.event_until,
            valid_from=new.valid_from,
            valid_until=new.valid_until,
            user=new.user,
            agent=new.agent,
            session_id=self.sessions.get((new.user, new.session)),
            turn_id=next((said.turn for said in new.said if said.turn), None),
        )
        return Standing(memory, new.heard(grounding), self.policy, {self.origin(place)}, set(whom.entities))

    def twin_of(self, standing: Standing) -> Standing | None:
        """The active memory of the same hash, stored or in this batch."""
        return self.by_hash.get(bytes(standing.memory.content_hash))

    def close_to(self, place: int) -> Iterator[tuple[Standing, float]]:
        """Active memories near enough to matter, nearest first, those of this batch among them."""
        least = least_of(self.policy)
        found = [(self.known[one.memory], one.cosine) for one in self.near[place] if one.memory in self.known]
        here = self.vectors[:place] @ self.vectors[place]
        found += [(self.placed[other], float(cosine)) for other, cosine in enumerate(here) if other in self.placed]
        close = [(other, cosine) for other, cosine in found if cosine >= least and other.memory.status == Status.ACTIVE]
        return iter(sorted(close, key=lambda pair: (-pair[1], pair[0].memory.id)))

    def keep(self, place: int, standing: Standing, status: Status, reason: str, into: UUID | None = None) -> None:
        """Put a new memory among the rows to file, with its sources, names, tags and vector."""
        memory, new, whom = standing.memory, self.news[place], self.named[place]
        cause = {Status.ACTIVE: "stored", Status.MERGED: "merged", Status.REJECTED: "rejected"}[status]
        standing.settle(self.now, cause, self.by, into, status=status, reason=reason, merged_into_id=into)
        self.placed[place] = standing
        self._add(memory)
        self._heard(place, memory.id)
        if status == Status.ACTIVE:
            # What was absorbed or rejected is not looked for; a split embeds its text again.
            vector = MemoryVector(memory_id=memory.id, route=Route.FULL, embedder=self.namespace.embedder)
            vector.vector = self.vectors[place]
            self._add(vector)
            self.by_hash[bytes(memory.content_hash)] = standing
        for tag in sorted(set(new.tags)):
            self._add(MemoryTag(tag=tag, memory_id=memory.id))
        for entity, sure in whom.entities.items():
            self._add(Mention(memory_id=memory.id, entity_id=entity, confidence=sure))

    def observed(self, place: int, standing: Standing, through: UUID | None = None) -> None:
        """Note that a known memory was heard again, and where."""
        self._heard(place, standing.memory.id)
        standing.settle(self.now, "merged" if through else "observed", self.by, through)

    def contradict(self, one: Standing, other: Standing, cosine: float) -> None:
        """Join two memories that cannot both hold; both lose belief, once."""
        self._join(one, other, cosine, EdgeKind.CONTRADICTION)
        for standing, against in ((one, other), (other, one)):
            standing.contradicted()
            standing.settle(self.now, "contradicted", self.by, against.memory.id)

    def corroborate(self, one: Standing, other: Standing, cosine: float, kind: EdgeKind) -> None:
        """Let a new memory count for an old one."""
        self._join(one, other, cosine, kind)
        other.corroborated()
        other.settle(self.now, "corroborated", self.by, one.memory.id)

    def escalate(self, one: Standing, other: Standing, cosine: float) -> None:
        """Leave a pair that is too close to call to a person."""
        first, second = sorted((one.memory.id, other.memory.id))
        self._add(ReviewItem(first_id=first, second_id=second, cosine=min(cosine, 1.0), created_at=self.now))

    def file(self) -> None:
        """Write everything: new rows table by table, changed memories, their history, the words of what is active."""
        standings = [*self.known.values(), *self.placed.values()]
        for table in TABLES:
            copied(table, self.rows.get(table, []))
        # The same turn or session may say a memory many times, and is one source of it.
        MemorySource.objects.bulk_create(self.rows.get(MemorySource, []), ignore_conflicts=True)
        changed = [one.memory for one in self.known.values() if one.events]
        Memory.objects.bulk_update(changed, TRACKED)
        copied(ScoreEvent, [event for one in standings for event in one.events])
        active = [one.memory.id for one in self.placed.values() if one.memory.status == Status.ACTIVE]
        words.index(self.namespace, active)

    def _join(self, one: Standing, other: Standing, cosine: float, kind: EdgeKind) -> None:
        later, earlier = sorted((one.memory.id, other.memory.id), reverse=True)
        edge = MemoryEdge(source_id=later, target_id=earlier, kind=kind, cosine=min(cosine, 1.0), created_at=self.now)
        self._add(edge)

    def _heard(self, place: int, memory: UUID) -> None:
        """The sources of one observation, each turn or session once."""
        session, source = self.origin(place)
        said = {one.turn: one.level for one in self.news[place].said} or {None: self.policy.source_default}
        for turn, level in said.items():
            row = MemorySource(memory_id=memory, session_id=session, turn_id=turn, source=source, level=level)
            row.strength, row.observed_at = float(self.policy[f"source_{level}"].value), self.now
            self._add(row)

    def _add(self, row: Any) -> None:
        row.namespace = self.namespace
        self.rows.setdefault(type(row), []).append(row)


# A row comes after those it refers to.
TABLES: tuple[type[Any], ...] = (Memory, MemoryVector, MemoryTag, Mention, MemoryEdge, ReviewItem)


def least_of(policy: WritePolicy) -> float:
    """The least cosine at which a memory has anything to do with another."""
    return min(policy.dedup_escalate, policy.corroboration_cosine)


def hash_of(new: NewMemory, whom: Named) -> bytes:
    """The hash under which a memory is known; an uncertain type counts as a Fact."""
    type = MemoryType.FACT if new.uncertain else new.type
    return content_hash(type, whom.subject_name or new.subject, new.predicate, new.content)
