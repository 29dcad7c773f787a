"""The outcome of one new memory: exact duplicate, near duplicate, contradiction, corroboration, or new."""

from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction

from memories.models import Memory, Namespace
from memories.models.choices import EdgeKind, Status
from memories.providers.judge import Judge, Pair, judge
from memories.writing.batch import WriteBatch
from memories.writing.comparison import are_unrelated, conflict_reasons, different_subjects, is_contradiction
from memories.writing.evidence import EvidenceState
from memories.writing.neighbours import nearest_memories
from memories.writing.prepare import PreparedMemories
from memories.writing.resolve import EntityResolver
from memories.writing.row_buffer import draft_memory
from memories.writing.write_policy import current_write_policy
from scoring.belief import corroborates
from scoring.contradiction import DIFFERENT_VALUE
from scoring.dedup import similarity_band
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
        """The row as the whole batch leaves it."""
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

    def same(self, one: str, other: str) -> bool | None:
        """Whether two memories say the same; None, for review, if a remote judge was not asked about the pair."""
        return self.known.get((one, other)) if self.judge.remote else self.judge.same([(one, other)])[0]


def decide_outcome(batch: WriteBatch, verdicts: JudgeVerdicts, index: int) -> Outcome:
    """Decide the outcome: exact duplicate, near duplicate, contradiction, corroboration, or new."""
    state = batch.new_state(index)
    if reason := rejection_reason(state.evidence, batch.policy):
        batch.store(index, state, Status.REJECTED, reason)
        return make_outcome(state, "rejected", reason)
    if (duplicate := batch.exact_duplicate(state)) is not None:
        independent = duplicate.observe(batch.origins(index), replace(state.evidence, type=duplicate.evidence.type))
        batch.observe(index, duplicate)
        return make_outcome(
            duplicate, "merged", "exact duplicate" if independent else "exact duplicate from the same session"
        )
    memory = state.memory
    close = [
        (other, cosine, conflict_reasons(memory, other.memory))
        for other, cosine in batch.close_memories(index)
        if not are_unrelated(memory, other.memory)
    ]
    for other, cosine, reasons in close:
        if not reasons and (verdict := duplicate_reason(batch, verdicts, state, other, cosine)):
            return merge_new_memory(
                batch, index, state, other, f"duplicate of another memory ({verdict}, cosine {cosine:.3f})"
            )
    batch.store(index, state, Status.ACTIVE, "")
    for other, cosine, reasons in close:
        if not reasons and is_corroboration(batch, state, other, cosine):
            batch.corroborate(state, other, cosine, EdgeKind.SUPPORTS)
    opponents: dict[UUID, tuple[EvidenceState, float | None, tuple[str, ...]]]
    opponents = {pair[0].memory.id: pair for pair in close if is_contradiction(memory, pair[0].memory, pair[2])}
    for other in batch.same_subject_and_predicate(index):
        if not are_unrelated(memory, other.memory) and DIFFERENT_VALUE in (
            reasons := conflict_reasons(memory, other.memory)
        ):
            opponents.setdefault(other.memory.id, (other, None, reasons))
    for opponent, similarity, _ in opponents.values():
        batch.contradict(state, opponent, similarity)
    undecided = [pair for pair in close if needs_review(batch, verdicts, state, *pair)]
    for other, cosine, _ in undecided:
        batch.escalate(state, other, cosine)
    if undecided:
        return make_outcome(state, "escalated", "close to another memory; needs review")
    return make_outcome(
        state, "stored", "; ".join(sorted({conflict for *_, reasons in opponents.values() for conflict in reasons}))
    )


def duplicate_reason(
    batch: WriteBatch, verdicts: JudgeVerdicts, one: EvidenceState, other: EvidenceState, cosine: float
) -> str:
    """Why two memories are duplicates; empty if they are not."""
    if different_subjects(one.memory, other.memory):
        return ""
    match similarity_band(cosine, duplicate=batch.policy.dedup_duplicate, escalate=batch.policy.dedup_escalate):
        case "duplicate":
            return "near duplicate"
        case "escalate" if verdicts.same(one.memory.content, other.memory.content):
            return "judged the same"
    return ""


def needs_review(
    batch: WriteBatch,
    verdicts: JudgeVerdicts,
    one: EvidenceState,
    other: EvidenceState,
    cosine: float,
    reasons: tuple[str, ...],
) -> bool:
    """Whether two memories are too close to call."""
    if reasons or different_subjects(one.memory, other.memory):
        return False
    dedup_band = similarity_band(cosine, duplicate=batch.policy.dedup_duplicate, escalate=batch.policy.dedup_escalate)
    return dedup_band == "escalate" and verdicts.same(one.memory.content, other.memory.content) is None


def is_corroboration(batch: WriteBatch, one: EvidenceState, other: EvidenceState, cosine: float) -> bool:
    """Whether a new memory is independent evidence for an existing one."""
    policy, shared_entities = batch.policy, len(one.entities & other.entities)
    similar = corroborates(
        shared_entities,
        cosine,
        needed=policy.corroboration_shared,
        threshold=policy.corroboration_cosine,
        conflict=False,
    )
    return similar and bool(other.independent_origins(one.origins))


def merge_new_memory(batch: WriteBatch, index: int, state: EvidenceState, other: EvidenceState, reason: str) -> Outcome:
    """Merge a new memory into an existing one; it is stored and can be split off again."""
    batch.store(index, state, Status.MERGED, reason, merged_into=other.memory.id)
    other.observe(state.origins, state.evidence)
    batch.absorb(index, other, state)
    return make_outcome(other, "merged", reason)


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
    """Pairs of a new and an earlier memory, stored or of the batch, in the escalation band."""
    policy, texts = current_write_policy(namespace), [new.content for new in prepared.new_memories]

    def undecided(cosine: float) -> bool:
        return similarity_band(cosine, duplicate=policy.dedup_duplicate, escalate=policy.dedup_escalate) == "escalate"

    resolver = EntityResolver(namespace, prepared.registry, namespace.now)
    resolved = [
        resolver.resolve_memory(new, hits) for new, hits in zip(prepared.new_memories, prepared.mentions, strict=True)
    ]
    drafts = [draft_memory(namespace, policy, *item) for item in zip(prepared.new_memories, resolved, strict=True)]
    with transaction.atomic():  # SET LOCAL needs a transaction
        neighbours = nearest_memories(namespace, prepared.vectors, policy.dedup_escalate, drafts)
    ids = {item.memory for hits in neighbours for item in hits if undecided(item.cosine)}
    stored = dict(Memory.objects.within(namespace).filter(id__in=ids).values_list("id", "content"))
    pairs = [
        (text, stored[item.memory])
        for text, hits in zip(texts, neighbours, strict=True)
        for item in hits
        if item.memory in stored
    ]
    cosines = prepared.vectors @ prepared.vectors.T
    later, earlier = np.nonzero(np.tril(cosines >= policy.dedup_escalate, -1))
    pairs += [(texts[a], texts[b]) for a, b in zip(later, earlier, strict=True) if undecided(float(cosines[a, b]))]
    return pairs
