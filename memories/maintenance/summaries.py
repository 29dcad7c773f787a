"""Groups of similar memories about one subject, and the summary of a group: its text and its sources."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db.models import Q
from django.db.models.functions import Coalesce

from memories.contracts.new_memory import NewMemory, Utterance
from memories.maintenance.fact_vectors import Vectors, load_fact_vectors
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, MemoryType, Status
from memories.providers.rules_judge import stems
from memories.writing.comparison import memory_statement
from scoring.contradiction import conflicts
from scoring.dedup import consolidation_groups
from scoring.policy import WritePolicyParams

ABOUT = Coalesce("subject_id", "subject_fallback")
MEDOIDS_TRIED = 3  # per group, the most central first
MAX_COMPARED_FACTS = 2_000  # per subject, the latest

TAG = "summary"
SOURCE = "consolidation"
MAX_QUOTED, MAX_SUMMARY_CHARS = 4, 1_000  # the medoid is always quoted whole
MIN_NEW_WORDS = 2  # that a further memory must add to be quoted


class SummaryScope(NamedTuple):
    """What memories must share to be summarised together; a summary never mixes users."""

    subject: UUID
    user: str


@dataclass(frozen=True)
class SummaryGroup:
    """Similar memories of one scope, and their medoid."""

    scope: SummaryScope
    members: tuple[Memory, ...]
    medoid: Memory

    @property
    def ids(self) -> frozenset[UUID]:
        """The ids of the members."""
        return frozenset(memory.id for memory in self.members)


def find_groups(
    namespace: Namespace, scopes: Sequence[SummaryScope], policy: WritePolicyParams
) -> tuple[list[SummaryGroup], int]:
    """The groups to summarise, and how many memories exceeded `MAX_COMPARED_FACTS`; three SQL queries."""
    by_scope = defaultdict(list)
    for memory, scope in active_in_scopes(namespace, scopes, ChunkLevel.FACT):
        by_scope[scope].append(memory)
    left_out = sum(max(0, len(facts) - MAX_COMPARED_FACTS) for facts in by_scope.values())
    compared = [memory for facts in by_scope.values() for memory in facts[-MAX_COMPARED_FACTS:]]
    ids, vectors = load_fact_vectors(namespace, compared)
    row_numbers = {memory: row for row, memory in enumerate(ids)}
    similar: list[tuple[SummaryScope, list[int]]] = []
    for scope, facts in by_scope.items():
        rows = [row_numbers[memory] for memory in facts if memory in row_numbers]
        # Around a centre, not pairwise: all members must be close to the text that will represent them.
        groups = consolidation_groups(vectors[rows].astype(float), policy.consolidation) if rows else []
        large = [members for members in groups if len(members) >= policy.consolidation_members]
        similar += [(scope, [rows[index] for index in members]) for members in large]
    member_ids = {ids[row] for _, members in similar for row in members}
    memories = {memory.id: memory for memory in Memory.objects.within(namespace).filter(id__in=member_ids)}
    consistent = [
        consistent_group(scope, [memories[ids[row]] for row in members], vectors[members]) for scope, members in similar
    ]
    return [group for group in consistent if len(group.members) >= policy.consolidation_members], left_out


def consistent_group(scope: SummaryScope, members: Sequence[Memory], vectors: Vectors) -> SummaryGroup:
    """The medoid and the members that do not contradict it; among the most central, the one that keeps most members."""
    central = np.argsort(-(vectors @ vectors.T).sum(axis=1), kind="stable")[:MEDOIDS_TRIED]
    groups = [
        SummaryGroup(
            scope,
            tuple(member for member in members if not conflicts(memory_statement(medoid), memory_statement(member))),
            medoid,
        )
        for medoid in (members[index] for index in central.tolist())
    ]
    return max(groups, key=lambda group: len(group.members))


def active_in_scopes(
    namespace: Namespace, scopes: Sequence[SummaryScope], level: ChunkLevel
) -> Iterator[tuple[UUID, SummaryScope]]:
    """The active memories of some scopes by id, each with its scope."""
    subjects, scope_set = {scope.subject for scope in scopes}, set(scopes)
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=level)
    about = active.filter(Q(subject_id__in=subjects) | Q(subject_fallback__in=subjects)).annotate(about=ABOUT)
    for memory, subject, user in about.order_by("id").values_list("id", "about", "user"):
        if SummaryScope(subject, user) in scope_set:
            yield memory, SummaryScope(subject, user)


def new_summary(medoid: Memory, members: Sequence[Memory]) -> NewMemory:
    """A memory that summarises its members and has all their sources."""
    latest = max(member.happened_at or member.created_at for member in members)
    return NewMemory(
        content=summary_text(medoid, members),
        type="" if medoid.type_uncertain else MemoryType(medoid.type),
        subject=medoid.subject_surface,
        utterances=summary_utterances(members),
        model=medoid.extractor_model,
        logprobs=() if medoid.extractor_logprob is None else (medoid.extractor_logprob,),
        tags=(TAG,),
        kind=medoid.kind,
        user=medoid.user,
        source=SOURCE,
        importance=max(member.importance for member in members),
        quality=medoid.quality,
        provenance_depth=max(member.provenance_depth for member in members) + 1,
        happened_at=latest,
    )


def summary_text(medoid: Memory, members: Sequence[Memory]) -> str:
    """The medoid's text, then those of the members that add most words."""
    quoted, known = [medoid.content.rstrip(". ")], stems(medoid.content)
    others = [member for member in members if member.id != medoid.id]
    while others and len(quoted) < MAX_QUOTED:
        best = max(others, key=lambda member: (len(stems(member.content) - known), member.id))
        others.remove(best)
        fits = len("; ".join([*quoted, best.content])) <= MAX_SUMMARY_CHARS
        if fits and len(stems(best.content) - known) >= MIN_NEW_WORDS:
            quoted.append(best.content.rstrip(". "))
            known |= stems(best.content)
    return f"{'; '.join(quoted)} ({len(members)} memories)"


def summary_utterances(members: Sequence[Memory]) -> tuple[Utterance, ...]:
    """Each turn behind the members with its strongest level; sources without a turn count as one."""
    strongest: dict[Utterance, float] = {}
    by_turn: dict[object, Utterance] = {}
    for source in (source for member in members for source in member.sources.all()):
        utterance = Utterance(source.level, source.turn_id)
        if source.strength > strongest.get(by_turn.get(source.turn_id, utterance), -1.0):
            by_turn[source.turn_id] = utterance
            strongest[utterance] = source.strength
    return tuple(sorted(by_turn.values(), key=lambda utterance: str(utterance.turn)))
