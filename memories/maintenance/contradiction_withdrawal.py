"""Contradictions that rules once stored and today's rules do not see: withdrawn, so that the earlier counts again.

What a person or a language model said stays, and so does what cannot be told from it.
"""

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings

from memories.contracts.work import Work
from memories.maintenance.contradiction_candidates import MemoryPair
from memories.maintenance.contradictions import active_states, ids_in_pairs
from memories.maintenance.reflection_scope import in_batches, record_example
from memories.models import Job, Memory, MemoryEdge, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import EdgeKind, JobKind, Status, Verdict
from memories.providers.judge import judge
from memories.writing.belief_history import BeliefStep, withdraw_all
from memories.writing.comparison import contradiction_reason
from memories.writing.feedback import CONTRADICTION_CONFIRMED
from memories.writing.lock import LockedMemories, lock_memories

WITHDRAWN = "contradiction withdrawn"
WHY_WITHDRAWN = "both may hold, by the rules as they are now"


def withdraw_contradictions(work: Work) -> None:
    """Judge every contradiction that rules stored once more, and withdraw those that no longer hold."""
    edges = MemoryEdge.objects.within(work.namespace).filter(
        kind=EdgeKind.CONTRADICTION, source__status=Status.ACTIVE, target__status=Status.ACTIVE
    )
    rows = edges.order_by("id").values_list("source_id", "target_id", "cosine")
    pairs = [MemoryPair(later, earlier, 1.0 if cosine is None else cosine) for later, earlier, cosine in rows]
    reflections = past_reflections(work.namespace)
    done = 0
    work.record_progress(done, len(pairs), looked_at=0, withdrawn=0)
    for batch in in_batches(pairs):
        compatible = compatible_pairs(work.namespace, batch)
        by_rule = [pair for pair in compatible if is_by_rule(work.namespace, pair, reflections)]
        done += len(batch)
        with lock_memories(work.namespace, *ids_in_pairs(by_rule), by=work.job.by) as locked:
            count = sum(withdraw_contradiction(work, locked, pair) for pair in by_rule)
            work.record_progress(done, len(pairs), looked_at=len(batch), withdrawn=count)


def compatible_pairs(namespace: Namespace, pairs: Sequence[MemoryPair]) -> list[MemoryPair]:
    """The pairs that today's rules do not see as contradictions."""
    memories = {row.id: row for row in Memory.objects.within(namespace).filter(id__in=ids_in_pairs(pairs))}
    return [pair for pair in pairs if not contradiction_reason(memories[pair.later], memories[pair.earlier])]


def is_by_rule(namespace: Namespace, pair: MemoryPair, reflections: Sequence[Job]) -> bool:
    """Whether rules stored a contradiction: when one of the two arrived, or in a reflection; and nobody confirmed it.

    Under a fixed clock everything happens at one time, so that nothing tells a rule from a person.
    """
    events = ScoreEvent.objects.within(namespace).filter(memory_id__in=pair[:2])
    contradicted = list(events.filter(other_id__in=pair[:2], cause="contradicted").order_by("at", "id"))
    confirmed = events.filter(other_id__in=pair[:2], cause=CONTRADICTION_CONFIRMED)
    reviews = ReviewItem.objects.within(namespace).filter(first_id=pair.earlier, second_id=pair.later)
    if namespace.clock is not None or not contradicted or any("reason" in event.parts for event in contradicted):
        return False
    if confirmed.exists() or reviews.filter(state=Verdict.CONTRADICTION).exists():
        return False
    last = contradicted[-1]
    return events.filter(cause="stored", at=last.at).exists() or is_by_reflection(last.by, last.at, reflections)


def past_reflections(namespace: Namespace) -> list[Job]:
    """The reflections whose contradictions rules found; none where a language model judges."""
    if judge(settings.RECALL_JUDGE).remote:
        return []
    return list(Job.objects.within(namespace).filter(kind=JobKind.REFLECT, started_at__isnull=False))


def is_by_reflection(by: str, at: datetime, reflections: Sequence[Job]) -> bool:
    """Whether something was recorded in one of the reflections."""
    return any(
        job.by == by and job.created_at <= at and (job.finished_at is None or at <= job.finished_at)
        for job in reflections
    )


def withdraw_contradiction(work: Work, locked: LockedMemories, pair: MemoryPair) -> bool:
    """Delete a contradiction edge, and recompute both beliefs without it."""
    states = active_states(locked, pair)
    if states is None or contradiction_reason(*(state.memory for state in states)):
        return False
    edges = MemoryEdge.objects.within(locked.namespace).filter(kind=EdgeKind.CONTRADICTION)
    if not edges.filter(source_id=pair.later, target_id=pair.earlier).delete()[0]:
        return False
    for state, other in (states, states[::-1]):
        if withdraw_all(state, BeliefStep("contradiction", other.memory.id)):
            state.record(locked.now, WITHDRAWN, locked.by, other.memory.id)
            state.give_reason(WHY_WITHDRAWN)
    record_example(work, "examples", {"memories": [str(pair.later), str(pair.earlier)]})
    return True
