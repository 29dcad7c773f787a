"""Belief as its history tells it, and what it would be had one piece of evidence never come."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from memories.models import ScoreEvent
from memories.writing.standing import Standing
from scoring import belief as beliefs
from scoring.policy import WritePolicy

SIGNS: dict[str, beliefs.Evidence] = {"corroborations": "corroboration", "contradictions": "contradiction"}


class Step(NamedTuple):
    """One piece of evidence for or against a memory, and the memory it came from."""

    sign: beliefs.Evidence
    other: UUID | None


def history_of(standing: Standing) -> list[ScoreEvent]:
    """Every change of a memory in order, those not yet filed at the end."""
    events = ScoreEvent.objects.filter(namespace_id=standing.memory.namespace_id, memory_id=standing.memory.id)
    return [*events.order_by("at", "id"), *standing.events]


def steps(events: Iterable[ScoreEvent]) -> list[Step]:
    """The evidence that history tells of; what was taken back is left out."""
    told: list[Step] = []
    for event in events:
        for column, sign in SIGNS.items():
            moved = event.after.get(column, 0) - event.before.get(column, 0) if column in event.after else 0
            step = Step(sign, event.other_id)
            told = [*told, *[step] * moved] if moved > 0 else without(told, step, -moved)
    return told


def backed(events: Iterable[ScoreEvent], other: UUID) -> bool:
    """Whether another memory counts for this one by itself, whatever a merge of the two has given."""
    apart = [event for event in events if event.cause not in ("merged", "split")]
    return Step("corroboration", other) in steps(apart)


def without(told: Sequence[Step], gone: Step, count: int) -> list[Step]:
    """Leave some evidence out: that of the same memory, else the latest of the same sign."""
    left = list(told)
    for _ in range(count):
        places = [place for place, step in enumerate(left) if step.sign == gone.sign]
        if places:
            del left[max(places, key=lambda place: (left[place].other == gone.other, place))]
    return left


def withdraw(standing: Standing, gone: Step, count: int = 1) -> None:
    """Take evidence back as if it had never come; what else happened since keeps standing."""
    if not count:
        return
    events = history_of(standing)
    told = steps(events)
    start = events[0].after.get("belief", standing.policy.belief_start) if events else standing.policy.belief_start
    so_far, left = (folded(standing, start, some) for some in (told, without(told, gone, count)))
    memory = standing.memory
    # Where history does not add up to the belief (an older policy, say), the difference alone is taken back.
    value = left if so_far == memory.belief else memory.belief + left - so_far
    memory.belief = min(max(value, beliefs.LOWEST), beliefs.HIGHEST)
    column = next(column for column, sign in SIGNS.items() if sign == gone.sign)
    setattr(memory, column, max(getattr(memory, column) - count, 0))


def folded(standing: Standing, start: float, told: Iterable[Step]) -> float:
    """The belief that evidence leads to under the policy in force."""
    return believed(told, start, standing.policy).value


def refolded(events: Iterable[ScoreEvent], policy: WritePolicy) -> beliefs.Belief:
    """The belief that a whole history leads to under another policy."""
    return believed(steps(events), policy.belief_start, policy)


def believed(told: Iterable[Step], start: float, policy: WritePolicy) -> beliefs.Belief:
    """Fold evidence, piece by piece."""
    return beliefs.folded(
        [step.sign for step in told],
        start=start,
        boost=policy.belief_boost,
        penalty=policy.belief_penalty,
        protected=policy.belief_protected,
        needed=policy.belief_needed,
    )
