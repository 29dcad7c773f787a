"""Contradictions that storing did not see: pairs are nominated, judged, and cost both sides belief once."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from memories.jobs.work import Work
from memories.models import Memory, MemoryEdge, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import EdgeKind, Status, Verdict
from memories.reflecting.candidates import CLOSEST, Field, Pair
from memories.reflecting.fresh import changed
from memories.reflecting.judged import Judged, Question, configured
from memories.reflecting.pieces import left, parts, tell
from memories.writing import belief_history
from memories.writing.evidence import EvidenceState
from memories.writing.feedback import add_contradiction
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.write_policy import current_write_policy


def contradictions(work: Work, judged: Judged | None = None) -> None:
    """Take back corroborations that hold no longer, then judge every candidate pair with a fresh side."""
    judged = judged or configured()
    fresh = list(changed(work).filter(status=Status.ACTIVE).order_by("id").values_list("id", flat=True))
    waiting = left(work, fresh)
    work.step_result["compared_with_at_most"] = CLOSEST
    work.record_progress(len(fresh) - len(waiting), len(fresh), looked_at=0, contradictions=0, withdrawn=0)
    recheck(work, set(fresh), judged)
    field, policy, done = Field.of(work.namespace), current_write_policy(work.namespace), len(fresh) - len(waiting)
    for block in parts(waiting):
        found = field.candidates(block, set(fresh), policy)
        opposed, unsure = decided(work.namespace, found.pairs, judged)
        with lock_memories(work.namespace, *ids_of(opposed), by=work.job.by) as hold:
            count = sum(contradict(work, hold, pair) for pair in opposed)
            done += len(block)
            work.step_result["through"] = str(block[-1])
            seen = {"pairs": len(found.pairs), "left_out": found.left_out, "unsure": unsure}
            work.record_progress(done, len(fresh), looked_at=len(block), **seen, contradictions=count)


def recheck(work: Work, fresh: set[UUID], judged: Judged) -> None:
    """Withdraw what counts for a memory though it contradicts it; then it counts against it."""
    edges = MemoryEdge.objects.within(work.namespace).filter(
        kind=EdgeKind.SUPPORTS, source__status=Status.ACTIVE, target__status=Status.ACTIVE
    )
    rows = edges.order_by("id").values_list("source_id", "target_id", "cosine")
    pairs = [
        Pair(max(source, target), min(source, target), 1.0 if cosine is None else cosine)
        for source, target, cosine in rows
        if source in fresh or target in fresh
    ]
    for block in parts(pairs):
        opposed, _ = decided(work.namespace, block, judged)
        if not opposed:
            continue
        with lock_memories(work.namespace, *ids_of(opposed), by=work.job.by) as hold:
            gone = sum(withdraw(work, hold, pair) for pair in opposed)
            count = sum(contradict(work, hold, pair) for pair in opposed)
            work.record_progress(work.job.done, work.job.total, withdrawn=gone, contradictions=count)


def decided(namespace: Namespace, pairs: Sequence[Pair], judged: Judged) -> tuple[list[Pair], int]:
    """Which pairs contradict each other, and of how many nobody is sure; asked while others may write."""
    settled = known(namespace, pairs)
    waiting = [pair for pair in pairs if pair[:2] not in settled]
    texts = {one.id: one for one in Memory.objects.within(namespace).filter(id__in=ids_of(waiting))}
    questions = [Question(texts[later], texts[earlier], cosine) for later, earlier, cosine in waiting]
    verdicts = judged(questions, current_write_policy(namespace))
    opposed = [pair for pair, verdict in zip(waiting, verdicts, strict=True) if verdict]
    return opposed, verdicts.count(None)


def contradict(work: Work, hold: LockedMemories, pair: Pair) -> bool:
    """Join a pair that cannot both hold; both sides lose belief, once."""
    sides = both(hold, pair)
    if sides is None or not add_contradiction(hold, *sides, cosine=pair.cosine):
        return False
    tell(work, "examples", {"memories": [str(pair.later), str(pair.earlier)], "cosine": round(pair.cosine, 3)})
    return True


def withdraw(work: Work, hold: LockedMemories, pair: Pair) -> bool:
    """Remove a supporting edge, and believe each side as if the other had never counted for it."""
    sides = both(hold, pair)
    if sides is None:
        return False
    edges = MemoryEdge.objects.within(hold.namespace).filter(
        kind=EdgeKind.SUPPORTS, source_id__in=pair[:2], target_id__in=pair[:2]
    )
    for standing, other in (sides, sides[::-1]):
        step = belief_history.BeliefStep("corroboration", other.memory.id)
        # An edge that somebody drew by hand never counted.
        if count := belief_history.belief_steps(belief_history.score_history(standing)).count(step):
            belief_history.withdraw_evidence(standing, step, count)
            standing.record(hold.now, "corroboration withdrawn", hold.by, other.memory.id)
    tell(work, "no_longer_supporting", {"memories": [str(pair.later), str(pair.earlier)]})
    return bool(edges.delete()[0])


def both(hold: LockedMemories, pair: Pair) -> tuple[EvidenceState, EvidenceState] | None:
    """The two sides of a pair, if both are active still."""
    sides = [hold.known.get(memory) for memory in pair[:2]]
    one, other = (side if side and side.memory.status == Status.ACTIVE else None for side in sides)
    return (one, other) if one and other else None


def known(namespace: Namespace, pairs: Sequence[Pair]) -> set[tuple[UUID, UUID]]:
    """Those pairs of which it is settled: they cost belief already, or a person has decided about them."""
    ids = ids_of(pairs)
    edges = MemoryEdge.objects.within(namespace).filter(kind=EdgeKind.CONTRADICTION, source_id__in=ids)
    # Who took such an edge away does not want it back.
    events = ScoreEvent.objects.within(namespace).filter(cause="contradicted", memory_id__in=ids)
    reviews = ReviewItem.objects.within(namespace).filter(~Q(state=Verdict.PENDING), first_id__in=ids)
    rows: list[tuple[UUID | None, UUID | None]] = [
        *edges.values_list("source_id", "target_id"),
        *events.values_list("memory_id", "other_id"),
        *reviews.values_list("first_id", "second_id"),
    ]
    return {(max(one, other), min(one, other)) for one, other in rows if one and other}


def ids_of(pairs: Sequence[Pair]) -> set[UUID]:
    """The memories of some pairs."""
    return {memory for pair in pairs for memory in pair[:2]}
