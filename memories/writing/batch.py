"""WriteBatch: the new memories, the stored ones they are compared with, and the rows to flush."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self
from uuid import UUID

import numpy as np
from django.db.models import Q

from memories.contracts.new_memory import NewMemory
from memories.models import Memory, MemoryTag, Namespace, ReviewItem
from memories.models.choices import ChunkLevel, EdgeKind, Status
from memories.writing import search_index
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.comparison import are_distinct, disambiguated_hash, has_expired
from memories.writing.evidence import EvidenceState, Origin, load_evidence
from memories.writing.merge import (
    UNRECORDED_COLUMNS,
    MemoryAttributes,
    merged_columns,
    merged_metadata,
    record_inherited,
    repeated_columns,
)
from memories.writing.neighbours import COSINE_DECIMALS, Neighbour, nearest_memories
from memories.writing.prepare import PreparedMemories, reembed_if_changed
from memories.writing.resolve import EntityResolver, Observation, ResolvedEntities, get_or_create_sessions, observations
from memories.writing.row_buffer import RowBuffer, draft_memory
from memories.writing.write_policy import current_write_policy
from scoring.policy import WritePolicyParams
from scoring.predicates import is_single_valued, normalize_predicate, predicate_spellings
from scoring.term import Array


@dataclass
class WriteBatch:
    """One batch of one namespace, written under the namespace lock."""

    namespace: Namespace
    policy: WritePolicyParams
    by: str
    now: datetime
    prepared: PreparedMemories
    resolved: list[ResolvedEntities]
    observations: list[list[Observation]]
    drafts: list[Memory]
    neighbours: list[list[Neighbour]]
    known: dict[UUID, EvidenceState]  # stored memories to compare with
    by_hash: dict[bytes, EvidenceState]
    cosines: Array  # pairwise cosines within the batch
    buffer: RowBuffer
    decided: dict[int, EvidenceState] = field(default_factory=dict)  # new memories so far, by index
    reobserved: set[UUID] = field(default_factory=set)  # known memories stated again
    # (survivor, absorbed, the survivor's attributes before the merge)
    merges: list[tuple[Memory, EvidenceState, MemoryAttributes]] = field(default_factory=list)
    rehashed: list[Memory] = field(default_factory=list)  # memories whose content hash changed

    @classmethod
    def load(cls, namespace: Namespace, prepared: PreparedMemories, by: str) -> Self:
        """Load everything the batch needs with a fixed number of SQL queries."""
        prepared = reembed_if_changed(namespace, prepared)
        now, new_memories = namespace.now, prepared.new_memories
        policy = current_write_policy(namespace)
        resolver = EntityResolver.load(namespace, new_memories, now)
        resolved = resolver.resolve_all(new_memories)
        resolver.flush()
        observed = observations(namespace, new_memories, get_or_create_sessions(namespace, new_memories, now), policy)
        sessions = [first.session for first, *_ in observed]
        drafts = [draft_memory(namespace, policy, *item) for item in zip(new_memories, resolved, sessions, strict=True)]
        neighbours = nearest_memories(namespace, prepared.vectors, minimum_cosine(policy), drafts, locked=True)
        hashes = [draft.content_hash for draft in drafts]
        duplicates = Memory.objects.within(namespace).filter(status=Status.ACTIVE, content_hash__in=hashes)
        near_ids = {neighbour.memory for hits in neighbours for neighbour in hits}
        ids = (
            near_ids
            | set(duplicates.values_list("id", flat=True))
            | find_same_subject_and_predicate(namespace, new_memories, resolved)
        )
        known = load_evidence(namespace, ids, policy)
        by_hash = {bytes(state.memory.content_hash): state for state in known.values()}
        cosines = np.round(prepared.vectors @ prepared.vectors.T, COSINE_DECIMALS)
        buffer = RowBuffer(namespace, policy, now)
        return cls(
            namespace,
            policy,
            by,
            now,
            prepared,
            resolved,
            observed,
            drafts,
            neighbours,
            known,
            by_hash,
            cosines,
            buffer,
        )

    def origins(self, index: int) -> set[Origin]:
        """The origins of a memory's observations."""
        return {observation.origin for observation in self.observations[index]}

    def new_state(self, index: int) -> EvidenceState:
        """The evidence state of a new memory, not stored yet."""
        evidence = self.prepared.new_memories[index].initial_evidence(self.prepared.groundings[index])
        entities = set(self.resolved[index].entities)
        first = self.observations[index][0]
        return EvidenceState(self.drafts[index], evidence, self.policy, {first.origin}, entities)

    def exact_duplicate(self, state: EvidenceState) -> EvidenceState | None:
        """The active exact duplicate, stored or in this batch."""
        duplicate = self.by_hash.get(bytes(state.memory.content_hash))
        return None if duplicate is None or are_distinct(state.memory, duplicate.memory) else duplicate

    def close_memories(self, index: int) -> Iterator[tuple[EvidenceState, float]]:
        """Active memories above the minimum cosine, nearest first, this batch included."""
        minimum = minimum_cosine(self.policy)
        candidates = [
            (self.known[neighbour.memory], neighbour.cosine)
            for neighbour in self.neighbours[index]
            if neighbour.memory in self.known
        ]
        cosines = self.cosines[index, :index]
        candidates += [
            (self.decided[other], float(cosines[other]))
            for other in np.flatnonzero(cosines >= minimum).tolist()
            if other in self.decided
        ]
        close = [
            (other, cosine)
            for other, cosine in candidates
            if cosine >= minimum and other.memory.status == Status.ACTIVE
        ]
        return iter(sorted(close, key=lambda pair: (-pair[1], pair[0].memory.id)))

    def same_subject_and_predicate(self, index: int) -> list[EvidenceState]:
        """Active memories with the same subject and predicate, if the predicate is single-valued."""
        new, key = self.prepared.new_memories[index], self.resolved[index].subject_key
        if key is None or not is_single_valued(new.predicate):
            return []
        earlier_in_batch = (state for other, state in self.decided.items() if other < index)
        return [
            state
            for state in (*self.known.values(), *earlier_in_batch)
            if (state.memory.subject_id or state.memory.subject_fallback) == key
            and normalize_predicate(state.memory.predicate) == normalize_predicate(new.predicate)
            and state.memory.status == Status.ACTIVE
        ]

    def store(
        self, index: int, state: EvidenceState, status: Status, reason: str, merged_into: UUID | None = None
    ) -> None:
        """Buffer a new memory with its sources, mentions, tags and vector."""
        memory, new, resolved = state.memory, self.prepared.new_memories[index], self.resolved[index]
        cause = {Status.ACTIVE: "stored", Status.MERGED: "merged", Status.REJECTED: "rejected"}[status]
        state.record(self.now, cause, self.by, merged_into, status=status, reason=reason, merged_into_id=merged_into)
        self.decided[index] = state
        self.buffer.add_memory(memory, new, resolved)
        self.buffer.add_sources(memory.id, self.observations[index])
        # Stated in several turns, sessions or sources at once: every one after the first is a further observation.
        if status != Status.REJECTED and state.observe(self.origins(index), state.evidence):
            state.record(self.now, "observed", self.by)
        if status == Status.ACTIVE:
            # Merged and rejected memories are not searched; a split embeds the text again.
            self.buffer.add_vector(memory, self.prepared, index)
            self.buffer.add_relation(memory, resolved)
            self.claim_hash(state)

    def claim_hash(self, state: EvidenceState) -> None:
        """Assign a content hash; of two memories with equal text, the expired or older one gets another hash."""
        content_hash = bytes(state.memory.content_hash)
        owner, loser = state, self.by_hash.get(content_hash)
        if loser and has_expired(state.memory, self.now):
            owner, loser = loser, owner
        if loser:
            loser.memory.content_hash = disambiguated_hash(loser.memory)
            self.rehashed.append(loser.memory)
        self.by_hash[content_hash] = owner

    def observe(self, index: int, state: EvidenceState) -> None:
        """Record a repeated observation of a known memory in the same words, and what it adds."""
        memory, new, resolved = state.memory, self.prepared.new_memories[index], self.resolved[index]
        self.buffer.add_sources(memory.id, self.observations[index])
        self.buffer.add_repeat(memory, new, resolved)
        state.entities |= resolved.entities.keys()
        if memory.type_uncertain and not new.type_uncertain:
            state.evidence = replace(state.evidence, type=new.type)
        self.reobserved.add(memory.id)
        state.record(self.now, "observed", self.by, **repeated_columns(memory, new))

    def absorb(self, index: int, state: EvidenceState, absorbed: EvidenceState) -> None:
        """Record an observation in other words, which are stored as a merged memory."""
        memory, new, resolved = state.memory, self.prepared.new_memories[index], self.resolved[index]
        self.buffer.add_sources(memory.id, self.observations[index], absorbed=True)
        self.merges.append(
            (memory, absorbed, {"entities": {*map(str, state.entities)}, "metadata": {*memory.metadata}})
        )
        self.buffer.add_tags_and_mentions(memory, new, resolved, if_new=True)
        state.entities |= resolved.entities.keys()
        self.reobserved.add(memory.id)
        columns = {**merged_columns(memory, absorbed.memory), **merged_metadata(memory, absorbed.memory)}
        state.record(self.now, "merged", self.by, absorbed.memory.id, **columns)

    def record_merges(self) -> None:
        """Record in the merge events what each absorbed memory adds to its survivor."""
        tags = {memory.id: set(memory.given_tags or ()) for memory, *_ in self.merges}
        stored = MemoryTag.objects.within(self.namespace).filter(memory_id__in=tags) if tags else ()
        for tag in stored:
            tags[tag.memory_id].add(tag.tag)
        for memory, absorbed, attributes in self.merges:
            absorbed_tags: set[str] = set(absorbed.memory.given_tags or ())
            added = {
                "tags": absorbed_tags,
                "entities": {*map(str, absorbed.entities)},
                "metadata": {*absorbed.memory.metadata},
            }
            record_inherited(absorbed.events, attributes | {"tags": tags[memory.id]}, added)
            tags[memory.id] |= absorbed_tags
            if memory.given_tags is not None:
                memory.given_tags = tags[memory.id]

    def contradict(self, first: EvidenceState, second: EvidenceState, cosine: float | None) -> None:
        """Add a contradiction between two memories; both lose belief once."""
        self.buffer.add_edge(first, second, cosine, EdgeKind.CONTRADICTION)
        for state, opponent in ((first, second), (second, first)):
            state.contradict()
            state.record(self.now, "contradicted", self.by, opponent.memory.id)

    def corroborate(self, new: EvidenceState, known: EvidenceState, cosine: float) -> None:
        """Count a new memory as support for an existing one."""
        self.buffer.add_edge(new, known, cosine, EdgeKind.SUPPORTS)
        known.corroborate(known.independent_sources(new.sources))
        known.record(self.now, "corroborated", self.by, new.memory.id)

    def escalate(self, new: EvidenceState, known: EvidenceState, cosine: float) -> None:
        """Queue a pair that is too close to call for review."""
        first, second = sorted((new.memory.id, known.memory.id))
        item = ReviewItem(first_id=first, second_id=second, cosine=min(cosine, 1.0), created_at=self.now)
        item.reason = review_reason(cosine, self.policy)
        self.buffer.add(item)

    def flush(self) -> None:
        """Flush new rows, changed memories, their events and the postings of active memories."""
        self.record_merges()
        for state in (*self.known.values(), *self.decided.values()):
            for event in state.events:
                self.buffer.add(event)
        bulk_update_columns([memory for memory in self.rehashed if not memory._state.adding], ["content_hash"])
        active = [state.memory for state in self.decided.values() if state.memory.status == Status.ACTIVE]
        search_index.set_document_lengths(self.namespace, active)
        self.buffer.flush()
        changed = [state for state in self.known.values() if state.events or state.memory.id in self.reobserved]
        columns = {column for state in changed for event in state.events for column in event.after}
        bulk_update_columns(
            [state.memory for state in changed], sorted(columns | (UNRECORDED_COLUMNS if self.reobserved else set()))
        )
        search_index.index_postings(self.namespace, [memory.id for memory in active])


def minimum_cosine(policy: WritePolicyParams) -> float:
    """The lowest cosine at which two memories are compared at all."""
    return min(policy.dedup_escalate, policy.corroboration_cosine)


def review_reason(cosine: float, policy: WritePolicyParams) -> str:
    """Why neither the cosine nor the words decide whether two memories are duplicates."""
    if cosine > policy.dedup_duplicate:
        return f"cosine {cosine:.3f} is above {policy.dedup_duplicate:.2f}, but they are not in the same words"
    return (
        f"cosine {cosine:.3f} is between {policy.dedup_escalate:.2f}, below which both are kept, "
        f"and {policy.dedup_duplicate:.2f}, above which they are duplicates"
    )


def find_same_subject_and_predicate(
    namespace: Namespace, new_memories: Sequence[NewMemory], resolved_entities: Sequence[ResolvedEntities]
) -> set[UUID]:
    """Stored memories with the same subject and predicate as a new one, for single-valued predicates."""
    single_valued = [
        (resolved.subject_key, new.predicate)
        for new, resolved in zip(new_memories, resolved_entities, strict=True)
        if is_single_valued(new.predicate)
    ]
    keys = {key for key, _ in single_valued if key}
    if not keys:
        return set()
    predicates = {spelling for _, predicate in single_valued for spelling in predicate_spellings(predicate)}
    matches = Memory.objects.within(namespace).filter(
        Q(subject_id__in=keys) | Q(subject_fallback__in=keys),
        predicate__in=predicates,
        status=Status.ACTIVE,
        level=ChunkLevel.FACT,
    )
    return set(matches.values_list("id", flat=True))
