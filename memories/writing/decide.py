"""The outcome of one new memory: exact duplicate, near duplicate, contradiction, corroboration, or new."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction

from memories.models import Memory, Namespace
from memories.models.choices import Status
from memories.providers.judge import Judge, Pair, judge
from memories.writing.batch import WriteBatch
from memories.writing.comparison import (
    are_restatements,
    are_unrelated,
    conflict_reasons,
    contradiction_reason,
    different_subjects,
)
from memories.writing.evidence import EvidenceState
from memories.writing.neighbours import nearest_memories
from memories.writing.prepare import PreparedMemories
from memories.writing.resolve import EntityResolver
from memories.writing.row_buffer import draft_memory
from memories.writing.write_policy import current_write_policy
from scoring.belief import corroborates
from scoring.contradiction import FactStatement, restates
from scoring.dedup import Band, merge_band
from scoring.policy import WritePolicyParams
from scoring.systems.recall import RecallParams, rejection_reason
from scoring.term import Tree

MIN_CONFIDENCE = RecallParams().min_confidence


@dataclass(frozen=True)
class Outcome:
    """The outcome for one new memory, and why."""

    outcome: Literal["stored", "merged", "escalated", "rejected"]
    reason: str
    state: EvidenceState  # its own, or that of the memory it was merged into

    @property
    def memory(self) -> Memory:
        """The memory's row, final once the batch is flushed."""
        return self.state.memory

    @property
    def explanation(self) -> Tree:
        """The derivation of its confidence."""
        return self.state.explanation

    @property
    def scores(self) -> dict[str, Tree]:
        """The derivations of its other scores."""
        return self.state.scores


@dataclass(frozen=True)
class JudgeVerdicts:
    """A judge and the verdicts it has already given."""

    judge: Judge
    known: dict[Pair, bool | None] = field(default_factory=dict)

    @classmethod
    def collect(cls, namespace: Namespace, prepared: PreparedMemories) -> "JudgeVerdicts":
        """Ask a remote judge about every undecided pair up front; a local judge answers on demand."""
        selected = judge(settings.RECALL_JUDGE)
        if not selected.remote:
            return cls(selected)
        pairs = list(dict.fromkeys(pairs_to_judge(namespace, prepared)))
        return cls(selected, dict(zip(pairs, selected.same(pairs), strict=True)))

    def same(self, new: str, known: str) -> bool | None:
        """Whether two memories say the same; None, for review, if a remote judge was not asked about the pair."""
        return self.known.get((new, known)) if self.judge.remote else self.judge.same([(new, known)])[0]


class ClosePair(NamedTuple):
    """A memory close to a new one, why the two conflict, and whether they say the same for certain."""

    known: EvidenceState
    cosine: float
    conflicts: tuple[str, ...]
    restated: bool


def decide_outcome(batch: WriteBatch, verdicts: JudgeVerdicts, index: int) -> Outcome:
    """Decide the outcome: exact duplicate, near duplicate, contradiction, corroboration, or new."""
    state = batch.new_state(index)
    if reason := rejection_reason(state.evidence, batch.policy):
        batch.store(index, state, Status.REJECTED, reason)
        return make_outcome(state, "rejected", reason)
    if (duplicate := batch.exact_duplicate(state)) is not None:
        return observe_duplicate(batch, index, state, duplicate)
    close = close_pairs(batch, index, state.memory)
    for pair in close:
        if verdict := duplicate_reason(batch, verdicts, state, pair):
            reason = f"duplicate of another memory ({verdict}, cosine {pair.cosine:.3f})"
            return merge_new_memory(batch, index, state, pair.known, reason)
    batch.store(index, state, Status.ACTIVE, "")
    for pair in close:
        if is_corroboration(batch, state, pair):
            batch.corroborate(state, pair.known, pair.cosine)
    conflicts = contradict_opponents(batch, index, state, close)
    undecided = [pair for pair in close if needs_review(batch, verdicts, state, pair)]
    for pair in undecided:
        batch.escalate(state, pair.known, pair.cosine)
    if undecided:
        return make_outcome(state, "escalated", "close to another memory; needs review")
    return make_outcome(state, "stored", "; ".join(sorted(conflicts)))


def observe_duplicate(batch: WriteBatch, index: int, state: EvidenceState, duplicate: EvidenceState) -> Outcome:
    """Count an exact duplicate as another observation of the known memory."""
    independent = duplicate.observe(batch.origins(index), replace(state.evidence, type=duplicate.evidence.type))
    batch.observe(index, duplicate)
    reason = "exact duplicate" if independent else "exact duplicate from the same session"
    return make_outcome(duplicate, "merged", reason)


def merge_new_memory(batch: WriteBatch, index: int, state: EvidenceState, known: EvidenceState, reason: str) -> Outcome:
    """Merge a new memory into a known one; it is stored and can be split off again."""
    batch.store(index, state, Status.MERGED, reason, merged_into=known.memory.id)
    known.observe(state.origins, state.evidence)
    batch.absorb(index, known, state)
    return make_outcome(known, "merged", reason)


def close_pairs(batch: WriteBatch, index: int, memory: Memory) -> list[ClosePair]:
    """The related memories close to a new one, nearest first."""
    return [
        ClosePair(known, cosine, conflict_reasons(memory, known.memory), are_restatements(memory, known.memory))
        for known, cosine in batch.close_memories(index)
        if not are_unrelated(memory, known.memory)
    ]


def duplicate_reason(batch: WriteBatch, verdicts: JudgeVerdicts, state: EvidenceState, pair: ClosePair) -> str:
    """Why a new memory duplicates a close one; empty if it does not."""
    if pair.conflicts or different_subjects(state.memory, pair.known.memory):
        return ""
    match dedup_band(batch.policy, pair.cosine, restated=pair.restated):
        case "duplicate":
            return "near duplicate"
        case "escalate" if verdicts.same(state.memory.content, pair.known.memory.content):
            return "judged the same"
    return ""


def needs_review(batch: WriteBatch, verdicts: JudgeVerdicts, state: EvidenceState, pair: ClosePair) -> bool:
    """Whether two memories are too close to call."""
    if pair.conflicts or different_subjects(state.memory, pair.known.memory):
        return False
    undecided = dedup_band(batch.policy, pair.cosine, restated=pair.restated) == "escalate"
    return undecided and verdicts.same(state.memory.content, pair.known.memory.content) is None


def is_corroboration(batch: WriteBatch, state: EvidenceState, pair: ClosePair) -> bool:
    """Whether a new memory is independent evidence for a close one."""
    similar = corroborates(
        len(state.entities & pair.known.entities),
        pair.cosine,
        needed=batch.policy.corroboration_shared,
        threshold=batch.policy.corroboration_cosine,
        conflict=bool(pair.conflicts),
    )
    return similar and bool(pair.known.independent_sources(state.sources))


def contradict_opponents(batch: WriteBatch, index: int, state: EvidenceState, close: Sequence[ClosePair]) -> set[str]:
    """Add a contradiction with each memory that certainly states otherwise, and return the reasons."""
    candidates: dict[UUID, tuple[EvidenceState, float | None]] = {
        pair.known.memory.id: (pair.known, pair.cosine) for pair in close
    }
    for known in batch.same_subject_and_predicate(index):
        candidates.setdefault(known.memory.id, (known, None))
    reasons = set()
    for known, cosine in candidates.values():
        if reason := contradiction_reason(state.memory, known.memory):
            batch.contradict(state, known, cosine)
            reasons.add(reason)
    return reasons


def dedup_band(policy: WritePolicyParams, cosine: float, *, restated: bool) -> Band:
    """Whether a pair is a duplicate, too close to call, or distinct."""
    return merge_band(cosine, restated=restated, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate)


def make_outcome(
    state: EvidenceState, outcome: Literal["stored", "merged", "escalated", "rejected"], reason: str
) -> Outcome:
    """The outcome, with a warning if the confidence is too low to be retrieved."""
    confidence = state.memory.confidence
    if outcome != "rejected" and confidence < MIN_CONFIDENCE:
        warning = f"confidence {confidence:.2f} is below the minimum {MIN_CONFIDENCE:.2f} of retrieval"
        reason = f"{reason}; {warning}" if reason else warning
    return Outcome(outcome, reason, state)


def pairs_to_judge(namespace: Namespace, prepared: PreparedMemories) -> list[Pair]:
    """Pairs of a new and an earlier memory, stored or of the batch, that the cosine and the words leave undecided."""
    policy, texts = current_write_policy(namespace), [new.content for new in prepared.new_memories]
    resolved = EntityResolver.load(namespace, prepared.new_memories, namespace.now).resolve_all(prepared.new_memories)
    drafts = [draft_memory(namespace, policy, *item) for item in zip(prepared.new_memories, resolved, strict=True)]
    with transaction.atomic():  # SET LOCAL needs a transaction
        neighbours = nearest_memories(namespace, prepared.vectors, policy.dedup_escalate, drafts)
    ids = {hit.memory for hits in neighbours for hit in hits}
    stored = dict(Memory.objects.within(namespace).filter(id__in=ids).values_list("id", "content"))
    pairs = [
        (text, stored[hit.memory])
        for text, hits in zip(texts, neighbours, strict=True)
        for hit in hits
        if hit.memory in stored and is_undecided(policy, hit.cosine, text, stored[hit.memory])
    ]
    cosines = prepared.vectors @ prepared.vectors.T
    later, earlier = np.nonzero(np.tril(cosines >= policy.dedup_escalate, -1))
    return pairs + [
        (texts[new], texts[known])
        for new, known in zip(later, earlier, strict=True)
        if is_undecided(policy, float(cosines[new, known]), texts[new], texts[known])
    ]


def is_undecided(policy: WritePolicyParams, cosine: float, text: str, known: str) -> bool:
    """Whether neither cosine nor words tell if two texts are one memory."""
    return dedup_band(policy, cosine, restated=restates(FactStatement(text), FactStatement(known))) == "escalate"
