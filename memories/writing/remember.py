"""Storing new memories: prepare, lock, decide, flush, one outcome each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import prefetch_related_objects

from memories import metrics
from memories.models import Memory, Namespace, NamespaceStatistics
from memories.models.choices import EdgeKind, Status
from memories.providers.judge import judge
from memories.writing.batch import WriteBatch
from memories.writing.comparison import are_unrelated, conflict_reasons, different_subjects, is_contradiction
from memories.writing.evidence import EvidenceState
from memories.writing.judge_verdicts import JudgeVerdicts
from memories.writing.new_memory import NewMemory
from memories.writing.prepare import PreparedMemories, prepare_ahead, reembed_if_changed
from scoring.belief import corroborates
from scoring.contradiction import DIFFERENT_VALUE
from scoring.dedup import similarity_band
from scoring.systems.recall import RecallParams, rejection_reason
from scoring.term import Tree

BATCH_SIZE = 125  # memories per transaction: large enough to be cheap, small enough to let others write
MIN_CONFIDENCE = RecallParams().min_confidence
# Foreign key checks cache their plan per connection; planned on empty tables it would be a sequential scan for the life
# of the connection.
LOCK_SQL = """
    UPDATE memories_namespacestatistics SET writes = writes + 1 WHERE namespace_id = %s
    RETURNING writes, set_config('enable_seqscan', 'off', true)
"""


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


def remember(
    namespace: Namespace, new_memories: Sequence[NewMemory], *, by: str, dry_run: bool = False
) -> list[Outcome]:
    """Store new memories; one outcome each, in order.

    A dry run does everything and rolls back.
    """
    if not new_memories:
        return []
    # A dry run is one transaction, or its second part would not see its first. Inside a caller's transaction, the first
    # part would hold the lock while a remote judge is called for the second.
    judge_in_transaction = connection.in_atomic_block and judge(settings.RECALL_JUDGE).remote
    batch_size = len(new_memories) if dry_run or judge_in_transaction else BATCH_SIZE
    parts = [new_memories[start : start + batch_size] for start in range(0, len(new_memories), batch_size)]
    prepared_parts: Iterable[PreparedMemories] = prepare_ahead(namespace, parts)
    if connection.in_atomic_block:
        # Otherwise the first part would hold the lock while the others are embedded.
        prepared_parts = list(prepared_parts)
    return [outcome for part in prepared_parts for outcome in write_batch(namespace, part, by, dry_run)]


def write_batch(
    namespace: Namespace, prepared: PreparedMemories, by: str, dry_run: bool, verdicts: JudgeVerdicts | None = None
) -> list[Outcome]:
    """Write memories in one transaction under the namespace lock; a caller that holds it passes the verdicts."""
    verdicts = verdicts or JudgeVerdicts.collect(namespace, prepared)
    with transaction.atomic():
        lock_namespace(namespace)
        prepared = reembed_if_changed(namespace, prepared)
        desk = WriteBatch.load(namespace, prepared, by)
        outcomes = [decide_outcome(desk, verdicts, place) for place in range(len(prepared.new_memories))]
        desk.flush()
        # Prefetched once for all renderers, and before a dry run rolls back.
        without_tags = [outcome.memory for outcome in outcomes if outcome.memory.given_tags is None]
        prefetch_related_objects(without_tags, "tags")
        transaction.set_rollback(dry_run)
        transaction.on_commit(lambda: metrics.count_outcomes(one.outcome for one in outcomes))
    return outcomes


def lock_namespace(namespace: Namespace) -> None:
    """Lock a namespace for writing through its statistics row, which also counts the writes."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_SQL, [namespace.id])
        if (row := cursor.fetchone()) is None:
            NamespaceStatistics.objects.get_or_create(namespace=namespace)
            cursor.execute(LOCK_SQL, [namespace.id])
            row = cursor.fetchone()
    namespace.writing = row[0]
    # The previous lock holder may have changed the embedder.
    namespace.refresh_from_db(fields=["embedder"])


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
