"""Contradictions the write path did not see: candidate pairs are judged, and each lowers both beliefs once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from memories.contracts.work import Work
from memories.maintenance.contradiction_candidates import MAX_COMPARED, FactIndex, MemoryPair
from memories.maintenance.reflection_scope import changed_facts, in_batches, record_example, remaining
from memories.models import Memory, MemoryEdge, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import EdgeKind, Status, Verdict
from memories.providers.judge import Judge, judge
from memories.providers.rules_judge import stems
from memories.writing.batch import minimum_cosine
from memories.writing.belief_history import BeliefStep, withdraw_all
from memories.writing.comparison import (
    are_unrelated,
    conflict_reasons,
    contradiction_reason,
    different_subjects,
    unrelated_subjects,
)
from memories.writing.evidence import EvidenceState
from memories.writing.feedback import add_contradiction
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.write_policy import current_write_policy
from scoring.contradiction import DIFFERENT_VALUE
from scoring.policy import WritePolicyParams
from scoring.predicates import is_single_valued


class JudgedPair(NamedTuple):
    """A pair to be judged."""

    later: Memory
    earlier: Memory
    cosine: float


# True: they contradict each other; None: undecided.
PairJudge = Callable[[Sequence[JudgedPair], WritePolicyParams], list[bool | None]]


def find_contradictions(work: Work, judge_pairs: PairJudge | None = None) -> None:
    """Withdraw corroborations that turned out to contradict, then judge all candidate pairs of changed facts."""
    judge_pairs = judge_pairs or configured_pair_judge()
    fresh = list(changed_facts(work).filter(status=Status.ACTIVE).order_by("id").values_list("id", flat=True))
    waiting = remaining(work, fresh)
    work.step_result["compared_with_at_most"] = MAX_COMPARED
    work.record_progress(len(fresh) - len(waiting), len(fresh), looked_at=0, contradictions=0, withdrawn=0)
    recheck_corroborations(work, set(fresh), judge_pairs)
    index, policy = FactIndex.load(work.namespace), current_write_policy(work.namespace)
    done = len(fresh) - len(waiting)
    for batch in in_batches(waiting):
        candidates = index.candidates(batch, set(fresh), policy)
        opposed, unsure = opposed_pairs(work.namespace, candidates.pairs, judge_pairs)
        with lock_memories(work.namespace, *ids_in_pairs(opposed), by=work.job.by) as locked:
            count = sum(record_contradiction(work, locked, pair) for pair in opposed)
            done += len(batch)
            work.step_result["through"] = str(batch[-1])
            counts = {"pairs": len(candidates.pairs), "left_out": candidates.left_out, "unsure": unsure}
            work.record_progress(done, len(fresh), looked_at=len(batch), **counts, contradictions=count)


def recheck_corroborations(work: Work, fresh: set[UUID], judge_pairs: PairJudge) -> None:
    """Turn corroborations between memories that contradict each other into contradictions."""
    edges = MemoryEdge.objects.within(work.namespace).filter(
        kind=EdgeKind.SUPPORTS, source__status=Status.ACTIVE, target__status=Status.ACTIVE
    )
    rows = edges.order_by("id").values_list("source_id", "target_id", "cosine")
    pairs = [
        MemoryPair(max(source, target), min(source, target), 1.0 if cosine is None else cosine)
        for source, target, cosine in rows
        if source in fresh or target in fresh
    ]
    for batch in in_batches(pairs):
        opposed, _ = opposed_pairs(work.namespace, batch, judge_pairs)
        if not opposed:
            continue
        with lock_memories(work.namespace, *ids_in_pairs(opposed), by=work.job.by) as locked:
            withdrawn = sum(withdraw_corroboration(work, locked, pair) for pair in opposed)
            count = sum(record_contradiction(work, locked, pair) for pair in opposed)
            work.record_progress(work.job.done, work.job.total, withdrawn=withdrawn, contradictions=count)


def opposed_pairs(
    namespace: Namespace, pairs: Sequence[MemoryPair], judge_pairs: PairJudge
) -> tuple[list[MemoryPair], int]:
    """The pairs judged contradictory, and the number of undecided ones; runs outside the lock."""
    settled = settled_pairs(namespace, pairs)
    open_pairs = [pair for pair in pairs if pair[:2] not in settled]
    memories = {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids_in_pairs(open_pairs))}
    judged = [JudgedPair(memories[later], memories[earlier], cosine) for later, earlier, cosine in open_pairs]
    verdicts = judge_pairs(judged, current_write_policy(namespace))
    opposed = [pair for pair, verdict in zip(open_pairs, verdicts, strict=True) if verdict]
    return opposed, verdicts.count(None)


def record_contradiction(work: Work, locked: LockedMemories, pair: MemoryPair) -> bool:
    """Add a contradiction edge and lower the belief of both sides, once."""
    states, configured = active_states(locked, pair), judge(settings.RECALL_JUDGE)
    # What a language model found does not depend on the rules.
    reason = f"judged by {configured.name}" if configured.remote else ""
    if states is None or not add_contradiction(locked, *states, reason=reason, cosine=pair.cosine):
        return False
    example = {"memories": [str(pair.later), str(pair.earlier)], "cosine": round(pair.cosine, 3)}
    record_example(work, "examples", example)
    return True


def withdraw_corroboration(work: Work, locked: LockedMemories, pair: MemoryPair) -> bool:
    """Delete a supporting edge, and recompute both beliefs without it."""
    states = active_states(locked, pair)
    if states is None:
        return False
    edges = MemoryEdge.objects.within(locked.namespace).filter(
        kind=EdgeKind.SUPPORTS, source_id__in=pair[:2], target_id__in=pair[:2]
    )
    for state, other in (states, states[::-1]):
        # An edge added by hand never counted.
        if withdraw_all(state, BeliefStep("corroboration", other.memory.id)):
            state.record(locked.now, "corroboration withdrawn", locked.by, other.memory.id)
    record_example(work, "no_longer_supporting", {"memories": [str(pair.later), str(pair.earlier)]})
    return bool(edges.delete()[0])


def active_states(locked: LockedMemories, pair: MemoryPair) -> tuple[EvidenceState, EvidenceState] | None:
    """The locked states of a pair if both memories are still active."""
    later, earlier = (locked.known.get(memory) for memory in pair[:2])
    if later is None or earlier is None:
        return None
    both_active = later.memory.status == earlier.memory.status == Status.ACTIVE
    return (later, earlier) if both_active else None


def settled_pairs(namespace: Namespace, pairs: Sequence[MemoryPair]) -> set[tuple[UUID, UUID]]:
    """The pairs that already count as contradictions, or that a person has decided."""
    ids = ids_in_pairs(pairs)
    edges = MemoryEdge.objects.within(namespace).filter(kind=EdgeKind.CONTRADICTION, source_id__in=ids)
    # An edge that was deleted on purpose must not come back.
    events = ScoreEvent.objects.within(namespace).filter(cause="contradicted", memory_id__in=ids)
    reviews = ReviewItem.objects.within(namespace).filter(~Q(state=Verdict.PENDING), first_id__in=ids)
    rows: list[tuple[UUID | None, UUID | None]] = [
        *edges.values_list("source_id", "target_id"),
        *events.values_list("memory_id", "other_id"),
        *reviews.values_list("first_id", "second_id"),
    ]
    return {(max(first, second), min(first, second)) for first, second in rows if first and second}


def ids_in_pairs(pairs: Sequence[MemoryPair]) -> set[UUID]:
    """The memories of some pairs."""
    return {memory for pair in pairs for memory in pair[:2]}


def configured_pair_judge() -> PairJudge:
    """The rules, or the configured language model."""
    configured = judge(settings.RECALL_JUDGE)
    return pair_judge_from(configured) if configured.remote else judge_pairs_by_rule


def pair_judge_from(judge: Judge) -> PairJudge:
    """Let a judge decide; unrelated pairs are not sent to it."""

    def judge_pairs(pairs: Sequence[JudgedPair], policy: WritePolicyParams) -> list[bool | None]:
        unrelated = [are_unrelated(later, earlier) or unrelated_subjects(later, earlier) for later, earlier, _ in pairs]
        sent = [pair for pair, skip in zip(pairs, unrelated, strict=True) if not skip]
        verdicts = iter(judge.contradicts([(pair.later.content, pair.earlier.content) for pair in sent]))
        return [False if skip else next(verdicts) for skip in unrelated]

    return judge_pairs


def judge_pairs_by_rule(pairs: Sequence[JudgedPair], policy: WritePolicyParams) -> list[bool | None]:
    """Decide as the write path does; less similar memories must also share most of their words."""
    return [judge_pair_by_rule(pair, policy) for pair in pairs]


def judge_pair_by_rule(pair: JudgedPair, policy: WritePolicyParams) -> bool | None:
    """Whether two memories contradict each other; None if they conflict but may be about two things."""
    later, earlier, cosine = pair
    reason = contradiction_reason(later, earlier)
    if not reason:
        unrelated = are_unrelated(later, earlier) or different_subjects(later, earlier)
        return None if not unrelated and conflict_reasons(later, earlier) else False
    if reason == DIFFERENT_VALUE and is_single_valued(later.predicate):
        return True
    # The paper nominates by cosine; what differs more must share most of its words.
    later_stems, earlier_stems = content_stems(later), content_stems(earlier)
    shared, union = later_stems & earlier_stems, later_stems | earlier_stems
    similar = cosine >= minimum_cosine(policy) or len(shared) >= policy.contradiction_words * len(union)
    return True if similar else None


def content_stems(memory: Memory) -> set[str]:
    """The word stems of a memory without numbers, in which contradicting memories differ."""
    return {word for word in stems(memory.content) if not word.isdigit()}
