r"""Belief in a memory (adaptive): evidence for and against it, from 0 to 10."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Quantity, maximum, minimum

EvidenceKind = Literal["corroboration", "contradiction"]
MIN_BELIEF, MAX_BELIEF = 0.0, 10.0


class Belief(NamedTuple):
    """Current belief and the evidence counts behind it."""

    value: float
    corroborations: int
    contradictions: int


def update_belief(
    belief: Belief, evidence: EvidenceKind, *, boost: float, penalty: float, protected: float, needed: int
) -> Belief:
    r"""Apply one independent source; above the protected level only with enough corroborations.

    $$ b' = \mathrm{clamp}(b + 0.5\,[\text{corroborates}] - 1.5\,[\text{contradicts}],\ 0,\ 10) $$

    >>> update_belief(Belief(5.0, 0, 0), "contradiction", boost=0.5, penalty=1.5, protected=8.0, needed=3)
    Belief(value=3.5, corroborations=0, contradictions=1)
    """
    corroborations = belief.corroborations + (evidence == "corroboration")
    contradictions = belief.contradictions + (evidence == "contradiction")
    ceiling = protected if corroborations < needed else MAX_BELIEF
    value = step_belief(np.asarray(belief.value), boost if evidence == "corroboration" else -penalty, ceiling)
    return Belief(float(value), corroborations, contradictions)


def step_belief(belief: Quantity, step: Quantity | float, ceiling: Quantity | float) -> Quantity:
    r"""Move belief by one step, clamped to the scale and the ceiling.

    $$ b' = \min(\max(b + \text{step},\ 0),\ \text{ceiling}) $$

    >>> float(step_belief(np.asarray(7.8), 0.5, 8.0))
    8.0
    """
    return minimum(maximum(belief + step, MIN_BELIEF), ceiling)


def is_protected(
    belief: Array | float, corroborations: Array | int, *, protected: float, needed: int
) -> NDArray[np.bool_]:
    r"""Whether a memory is protected from decay: believed above the level, with enough corroborations.

    $$ \text{protected} = b > 8 \ \wedge\ \text{corroborations} \ge 3 $$

    >>> is_protected(np.array([8.0, 8.5, 8.5]), np.array([7, 7, 2]), protected=8.0, needed=3)
    array([False,  True, False])
    """
    return np.logical_and(np.asarray(belief) > protected, np.asarray(corroborations) >= needed)


def belief_from_history(
    evidence: Iterable[EvidenceKind], *, start: float, boost: float, penalty: float, protected: float, needed: int
) -> Belief:
    r"""Belief after a sequence of evidence; above 8 only with three corroborations.

    $$ b \le 8 \quad \text{while corroborations} < 3 $$

    >>> belief_from_history(["corroboration"] * 7, start=5.0, boost=0.5, penalty=1.5, protected=8.0, needed=3).value
    8.5
    """
    belief = Belief(start, 0, 0)
    for kind in evidence:
        belief = update_belief(belief, kind, boost=boost, penalty=penalty, protected=protected, needed=needed)
    return belief


def belief_multiplier(belief: Quantity, floor: Quantity | float, slope: Quantity | float) -> Quantity:
    r"""Linear multiplier: half of the retrieval score at belief 0, all of it at 10.

    $$ \text{multiplier} = 0.5 + 0.05 \cdot \text{belief} $$

    >>> [belief_multiplier(belief, 0.5, 0.05) for belief in (0.0, 5.0, 10.0)]
    [0.5, 0.75, 1.0]
    """
    return floor + slope * belief


def corroborates(shared_entities: int, cosine: float, *, needed: int, threshold: float, conflict: bool) -> bool:
    r"""Whether a new memory corroborates an old one: shared entities, similar content, no conflict.

    $$ |E_1 \cap E_2| \ge 1 \ \wedge\ \cos \ge 0.85 \ \wedge\ \text{no conflict} $$

    >>> [corroborates(1, 0.85, needed=1, threshold=0.85, conflict=conflict) for conflict in (False, True)]
    [True, False]
    """
    return shared_entities >= needed and cosine >= threshold and not conflict


def may_contradict(shared_entities: int, cosine: float, *, needed: int, low: float, high: float) -> bool:
    r"""Whether two memories are a contradiction candidate, for a judge to decide.

    $$ |E_1 \cap E_2| \ge 2 \ \wedge\ 0.40 \le \cos \le c_{\max} $$

    >>> [may_contradict(2, cosine, needed=2, low=0.40, high=0.75) for cosine in (0.39, 0.40, 0.75, 0.93)]
    [False, True, True, False]
    """
    return shared_entities >= needed and low <= cosine <= high
