"""Belief as its history tells it, and what it would be had one piece of evidence never come."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memories.models import ScoreEvent
from memories.writing.standing import Standing, stepped
from scoring import belief as beliefs
from scoring.policy import WritePolicy
from scoring.term import Term, given, least, most

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
    begun = given("belief at the start", np.asarray(start))
    so_far, left = (folded(some, begun, standing.policy) for some in (told, without(told, gone, count)))
    memory = standing.memory
    if float(so_far.value) == memory.belief:
        standing.believed = left
    else:
        # Where history does not add up to the belief (an older policy, say), the difference alone is taken back.
        now = given("belief before", np.asarray(memory.belief)) + left - so_far
        standing.believed = least(most(now, beliefs.LOWEST), beliefs.HIGHEST).named("belief")
    memory.belief = float(standing.believed.value)
    column = next(column for column, sign in SIGNS.items() if sign == gone.sign)
    setattr(memory, column, max(getattr(memory, column) - count, 0))


def refolded(events: Iterable[ScoreEvent], policy: WritePolicy) -> Term:
    """The belief that a whole history leads to under another policy, and how."""
    return folded(steps(events), policy["belief_start"].named("belief"), policy)


def folded(told: Iterable[Step], start: Term, policy: WritePolicy) -> Term:
    """The belief that evidence leads to from a start, piece by piece, and how."""
    belief, corroborations = start, 0
    for step in told:
        corroborations += step.sign == "corroboration"
        belief = stepped(belief, step.sign, corroborations, policy)
    return belief
