"""Belief replayed from a memory's history, with or without a given piece of evidence."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memories.models import ScoreEvent
from memories.writing.evidence import EvidenceState, belief_step
from scoring import belief as beliefs
from scoring.policy import WritePolicyParams
from scoring.term import Term, feature, maximum, minimum

SIGN_BY_COLUMN: dict[str, beliefs.EvidenceKind] = {"corroborations": "corroboration", "contradictions": "contradiction"}


class BeliefStep(NamedTuple):
    """One piece of evidence for or against a memory, and the memory it came from."""

    sign: beliefs.EvidenceKind
    other: UUID | None


def score_history(state: EvidenceState) -> list[ScoreEvent]:
    """Every event of a memory in order, unsaved ones last."""
    events = ScoreEvent.objects.filter(namespace_id=state.memory.namespace_id, memory_id=state.memory.id)
    return [*events.order_by("at", "id"), *state.events]


def belief_steps(events: Iterable[ScoreEvent]) -> list[BeliefStep]:
    """The evidence recorded in a history, without what was withdrawn later."""
    recorded: list[BeliefStep] = []
    for event in events:
        for column, sign in SIGN_BY_COLUMN.items():
            change = event.after.get(column, 0) - event.before.get(column, 0) if column in event.after else 0
            step = BeliefStep(sign, event.other_id)
            recorded = [*recorded, *[step] * change] if change > 0 else remove_steps(recorded, step, -change)
    return recorded


def remove_steps(steps: Sequence[BeliefStep], removed: BeliefStep, count: int) -> list[BeliefStep]:
    """Drop `count` matching steps: those from the same memory first, then the latest of the same sign."""
    remaining = list(steps)
    for _ in range(count):
        matches = [index for index, step in enumerate(remaining) if step.sign == removed.sign]
        if matches:
            del remaining[max(matches, key=lambda index: (remaining[index].other == removed.other, index))]
    return remaining


def withdraw_evidence(state: EvidenceState, removed: BeliefStep, count: int = 1) -> None:
    """Undo evidence as if it had never been recorded; later changes are kept."""
    if not count:
        return
    events = score_history(state)
    steps_so_far = belief_steps(events)
    initial = events[0].after.get("belief", state.policy.belief_start) if events else state.policy.belief_start
    start = feature("belief at the start", np.asarray(initial))
    before, after = (
        fold_belief_steps(selected, start, state.policy)
        for selected in (steps_so_far, remove_steps(steps_so_far, removed, count))
    )
    memory = state.memory
    if float(before.value) == memory.belief:
        state.belief_term = after
    else:
        # Where the history does not add up to the belief (an older policy, say), subtract only the difference.
        adjusted = feature("belief before", np.asarray(memory.belief)) + after - before
        state.belief_term = minimum(maximum(adjusted, beliefs.MIN_BELIEF), beliefs.MAX_BELIEF).with_name("belief")
    memory.belief = float(state.belief_term.value)
    column = next(column for column, sign in SIGN_BY_COLUMN.items() if sign == removed.sign)
    setattr(memory, column, max(getattr(memory, column) - count, 0))


def withdraw_all(state: EvidenceState, removed: BeliefStep) -> bool:
    """Undo all evidence of one sign from one memory; whether there was any."""
    count = belief_steps(score_history(state)).count(removed)
    withdraw_evidence(state, removed, count)
    return bool(count)


def replay_belief(events: Iterable[ScoreEvent], policy: WritePolicyParams) -> Term:
    """The belief a history yields under another policy, with its derivation."""
    return fold_belief_steps(belief_steps(events), policy["belief_start"].with_name("belief"), policy)


def fold_belief_steps(steps: Iterable[BeliefStep], start: Term, policy: WritePolicyParams) -> Term:
    """Apply steps to a starting belief in order and keep the derivation."""
    belief, corroborations = start, 0
    for step in steps:
        corroborations += step.sign == "corroboration"
        belief = belief_step(belief, step.sign, corroborations, policy)
    return belief
