"""The desk a batch is written at: what is known of the namespace, what is new, and what will be filed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self
from uuid import UUID

import numpy as np
from django.db.models import Q

from memories.models import Memory, MemoryTag, Namespace, ReviewItem
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.writing import borrowing, words
from memories.writing.borrowing import Names as Borrowed
from memories.writing.comparing import apart, hash_beside, over
from memories.writing.copying import updated
from memories.writing.drafting import drafted
from memories.writing.filing import Filing
from memories.writing.neighbours import PLACES, Neighbour, nearest
from memories.writing.new_memory import NewMemory
from memories.writing.policy import policy_of
from memories.writing.preparing import Prepared
from memories.writing.resolving import Named, Names, sessions_of
from memories.writing.sources import Observation, Origin, observations
from memories.writing.standing import Standing, loaded
from memories.writing.uniting import SILENT, brought, completed, together
from scoring.policy import WritePolicy
from scoring.predicates import single_valued, spellings, spoken
from scoring.term import Array


@dataclass
class Desk:
    """One batch of one namespace, under the lock of its statistics."""

    namespace: Namespace
    policy: WritePolicy
    by: str
    now: datetime
    ready: Prepared
    named: list[Named]
    heard: list[list[Observation]]
    drafts: list[Memory]
    near: list[list[Neighbour]]
    known: dict[UUID, Standing]
    by_hash: dict[bytes, Standing]
    alike: Array  # cosines between the memories of this batch
    filing: Filing
    placed: dict[int, Standing] = field(default_factory=dict)
    said_again: set[UUID] = field(default_factory=set)
    absorbed: list[tuple[Memory, Standing, Borrowed]] = field(default_factory=list)  # with what the survivor had
    aside: list[Memory] = field(default_factory=list)  # memories whose words stand for another one from now on

    @classmethod
    def opened(cls, namespace: Namespace, ready: Prepared, by: str) -> Self:
        """Read all that the batch needs, a fixed number of questions for any number of memories."""
        now, news = namespace.now, ready.news
        policy = policy_of(namespace)
        names = Names.of(namespace, now)
        named = [names.of_memory(new, found) for new, found in zip(news, names.found_in(ready), strict=True)]
        names.file()
        heard = observations(namespace, news, sessions_of(namespace, news, now), policy)
        homes = [session for (_, (session, _)), *_ in heard]
        drafts = [drafted(namespace, policy, *one) for one in zip(news, named, homes, strict=True)]
        near = nearest(namespace, ready.vectors, least_of(policy), drafts, locked=True)
        hashes = [draft.content_hash for draft in drafts]
        twins = Memory.objects.within(namespace).filter(status=Status.ACTIVE, content_hash__in=hashes)
        close = {one.memory for found in near for one in found}
        ids = close | set(twins.values_list("id", flat=True)) | rivals_of(namespace, news, named)
        known = loaded(namespace, ids, policy)
        by_hash = {bytes(one.memory.content_hash): one for one in known.values()}
        alike = np.round(ready.vectors @ ready.vectors.T, PLACES)
        filing = Filing(namespace, policy, now)
        return cls(namespace, policy, by, now, ready, named, heard, drafts, near, known, by_hash, alike, filing)

    def origins(self, place: int) -> set[Origin]:
        """What tells the observations of a memory apart: sessions, else a source."""
        return {origin for _, origin in self.heard[place]}

    def weighed(self, place: int) -> Standing:
        """A new memory with the evidence it comes with, not yet stored."""
        evidence = self.ready.news[place].heard(self.ready.groundings[place])
        entities = set(self.named[place].entities)
        _, first = self.heard[place][0]
        return Standing(self.drafts[place], evidence, self.policy, {first}, entities)

    def twin_of(self, standing: Standing) -> Standing | None:
        """The active memory of the same hash, stored or in this batch, if it is the same."""
        twin = self.by_hash.get(bytes(standing.memory.content_hash))
        return None if twin is None or apart(standing.memory, twin.memory) else twin

    def close_to(self, place: int) -> Iterator[tuple[Standing, float]]:
        """Active memories near enough to matter, nearest first, those of this batch among them."""
        least = least_of(self.policy)
        found = [(self.known[one.memory], one.cosine) for one in self.near[place] if one.memory in self.known]
        here = self.alike[place, :place]
        found += [
            (self.placed[other], float(here[other]))
            for other in np.flatnonzero(here >= least).tolist()
            if other in self.placed
        ]
        close = [(other, cosine) for other, cosine in found if cosine >= least and other.memory.status == Status.ACTIVE]
        return iter(sorted(close, key=lambda pair: (-pair[1], pair[0].memory.id)))

    def rivals(self, place: int) -> list[Standing]:
        """Active memories of the same subject and predicate, where a predicate holds one value at a time."""
        new, key = self.ready.news[place], self.named[place].key
        if key is None or not single_valued(new.predicate):
            return []
        here = (one for other, one in self.placed.items() if other < place)
        return [
            one
            for one in (*self.known.values(), *here)
            if (one.memory.subject_id or one.memory.subject_fallback) == key
            and spoken(one.memory.predicate) == spoken(new.predicate)
            and one.memory.status == Status.ACTIVE
        ]

    def keep(self, place: int, standing: Standing, status: Status, reason: str, into: UUID | None = None) -> None:
        """Put a new memory among the rows to file, with its sources, names, tags and vector."""
        memory, new, whom = standing.memory, self.ready.news[place], self.named[place]
        cause = {Status.ACTIVE: "stored", Status.MERGED: "merged", Status.REJECTED: "rejected"}[status]
        standing.settle(self.now, cause, self.by, into, status=status, reason=reason, merged_into_id=into)
        self.placed[place] = standing
        self.filing.add_memory(memory, new, whom)
        self.filing.add_sources(memory.id, self.heard[place])
        # Who says it in several sessions at once says it again in each but the first.
        if status != Status.REJECTED and standing.hear(self.origins(place), standing.evidence):
            standing.settle(self.now, "observed", self.by)
        if status == Status.ACTIVE:
            # What was absorbed or rejected is not looked for; a split embeds its text again.
            self.filing.add_vector(memory, self.ready, place)
            self.filing.add_relation(memory, whom)
            self.give_hash(standing)

    def give_hash(self, standing: Standing) -> None:
        """Let a memory be known by its words; of two that share them, what is over or was there before steps aside."""
        words = bytes(standing.memory.content_hash)
        stays, goes = standing, self.by_hash.get(words)
        if goes and over(standing.memory, self.now):
            stays, goes = goes, stays
        if goes:
            goes.memory.content_hash = hash_beside(goes.memory)
            self.aside.append(goes.memory)
        self.by_hash[words] = stays

    def observe(self, place: int, standing: Standing) -> None:
        """Note that a known memory was said again in the same words, where, and what more was said of it."""
        memory, new, whom = standing.memory, self.ready.news[place], self.named[place]
        self.filing.add_sources(memory.id, self.heard[place])
        self.filing.add_again(memory, new, whom)
        standing.entities |= whom.entities.keys()
        if memory.type_uncertain and not new.uncertain:
            standing.evidence = replace(standing.evidence, type=new.type)
        self.said_again.add(memory.id)
        standing.settle(self.now, "observed", self.by, **brought(memory, new))

    def absorb(self, place: int, standing: Standing, gone: Standing) -> None:
        """Note that a known memory was said again in other words, which have a row of their own."""
        memory, new, whom = standing.memory, self.ready.news[place], self.named[place]
        self.filing.add_sources(memory.id, self.heard[place], absorbed=True)
        self.absorbed.append(
            (memory, gone, {"entities": {*map(str, standing.entities)}, "metadata": {*memory.metadata}})
        )
        self.filing.add_names(memory, new, whom, again=True)
        standing.entities |= whom.entities.keys()
        self.said_again.add(memory.id)
        more = {**completed(memory, gone.memory), **together(memory, gone.memory)}
        standing.settle(self.now, "merged", self.by, gone.memory.id, **more)

    def note_borrowed(self) -> None:
        """Write down what each absorbed memory brings to its survivor."""
        known = {memory.id: set(memory.given_tags or ()) for memory, *_ in self.absorbed}
        stored = MemoryTag.objects.within(self.namespace).filter(memory_id__in=known) if known else ()
        for tag in stored:
            known[tag.memory_id].add(tag.tag)
        for memory, gone, names in self.absorbed:
            own: set[str] = set(gone.memory.given_tags or ())
            theirs = {"tags": own, "entities": {*map(str, gone.entities)}, "metadata": {*gone.memory.metadata}}
            borrowing.note(gone.events, names | {"tags": known[memory.id]}, theirs)
            known[memory.id] |= own
            if memory.given_tags is not None:
                memory.given_tags = known[memory.id]

    def contradict(self, one: Standing, other: Standing, cosine: float | None) -> None:
        """Join two memories that cannot both hold; both lose belief, once."""
        self.filing.join(one, other, cosine, EdgeKind.CONTRADICTION)
        for standing, against in ((one, other), (other, one)):
            standing.contradicted()
            standing.settle(self.now, "contradicted", self.by, against.memory.id)

    def corroborate(self, one: Standing, other: Standing, cosine: float, kind: EdgeKind) -> None:
        """Let a new memory count for an old one."""
        self.filing.join(one, other, cosine, kind)
        other.corroborated(other.independent(one.origins))
        other.settle(self.now, "corroborated", self.by, one.memory.id)

    def escalate(self, one: Standing, other: Standing, cosine: float) -> None:
        """Leave a pair that is too close to call to a person."""
        first, second = sorted((one.memory.id, other.memory.id))
        item = ReviewItem(first_id=first, second_id=second, cosine=min(cosine, 1.0), created_at=self.now)
        item.reason = doubt(cosine, self.policy)
        self.filing.add(item)

    def file(self) -> None:
        """Write everything: new rows, changed memories, their history, the words of what is active."""
        self.note_borrowed()
        for one in (*self.known.values(), *self.placed.values()):
            for event in one.events:
                self.filing.add(event)
        updated([memory for memory in self.aside if not memory._state.adding], ["content_hash"])
        active = [one.memory for one in self.placed.values() if one.memory.status == Status.ACTIVE]
        words.measure(self.namespace, active)
        self.filing.write()
        changed = [one for one in self.known.values() if one.events or one.memory.id in self.said_again]
        moved = {column for one in changed for event in one.events for column in event.after}
        updated([one.memory for one in changed], sorted(moved | (SILENT if self.said_again else set())))
        words.index(self.namespace, [memory.id for memory in active])


def least_of(policy: WritePolicy) -> float:
    """The least cosine at which a memory has anything to do with another."""
    return min(policy.dedup_escalate, policy.corroboration_cosine)


def doubt(cosine: float, policy: WritePolicy) -> str:
    """Why a cosine alone does not decide whether two memories are one."""
    return (
        f"cosine {cosine:.3f} is neither below {policy.dedup_escalate:.2f}, where both stay, "
        f"nor above {policy.dedup_duplicate:.2f}, where they are one"
    )


def rivals_of(namespace: Namespace, news: Sequence[NewMemory], named: Sequence[Named]) -> set[UUID]:
    """Stored memories that speak of the same subjects by the same predicates, where a predicate holds one value."""
    single = [(whom.key, new.predicate) for new, whom in zip(news, named, strict=True) if single_valued(new.predicate)]
    keys = {key for key, _ in single if key}
    if not keys:
        return set()
    predicates = {spelling for _, predicate in single for spelling in spellings(predicate)}
    said = Memory.objects.within(namespace).filter(
        Q(subject_id__in=keys) | Q(subject_fallback__in=keys),
        predicate__in=predicates,
        status=Status.ACTIVE,
        level=ChunkLevel.FACT,
    )
    return set(said.values_list("id", flat=True))
