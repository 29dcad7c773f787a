r"""Belief of adaptive: evidence for and against a memory on a scale from 0 to 10."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from scoring.term import Quantity, least, most

Evidence = Literal["corroboration", "contradiction"]
LOWEST, HIGHEST = 0.0, 10.0


class Belief(NamedTuple):
    """What a memory's evidence has added up to so far."""

    value: float
    corroborations: int
    contradictions: int


def update(
    belief: Belief, evidence: Evidence, *, boost: float, penalty: float, protected: float, needed: int
) -> Belief:
    r"""Add one independent source; protected ground is closed until enough of them agree.

    $$ b' = \mathrm{clamp}(b + 0.5\,[\text{corroborates}] - 1.5\,[\text{contradicts}],\ 0,\ 10) $$

    >>> update(Belief(5.0, 0, 0), "contradiction", boost=0.5, penalty=1.5, protected=8.0, needed=3)
    Belief(value=3.5, corroborations=0, contradictions=1)
    """
    for_it = belief.corroborations + (evidence == "corroboration")
    against = belief.contradictions + (evidence == "contradiction")
    ceiling = protected if for_it < needed else HIGHEST
    value = moved(np.asarray(belief.value), boost if evidence == "corroboration" else -penalty, ceiling)
    return Belief(float(value), for_it, against)


def moved(belief: Quantity, step: Quantity | float, ceiling: Quantity | float) -> Quantity:
    r"""One step up or down, within the scale and below what is protected.

    $$ b' = \min(\max(b + \text{step},\ 0),\ \text{ceiling}) $$

    >>> float(moved(np.asarray(7.8), 0.5, 8.0))
    8.0
    """
    return least(most(belief + step, LOWEST), ceiling)


def folded(
    evidence: Iterable[Evidence], *, start: float, boost: float, penalty: float, protected: float, needed: int
) -> Belief:
    r"""The belief that a history of evidence, in order, leads to; above 8 only with three corroborations.

    $$ b \le 8 \quad \text{while corroborations} < 3 $$

    >>> folded(["corroboration"] * 7, start=5.0, boost=0.5, penalty=1.5, protected=8.0, needed=3).value
    8.5
    """
    belief = Belief(start, 0, 0)
    for one in evidence:
        belief = update(belief, one, boost=boost, penalty=penalty, protected=protected, needed=needed)
    return belief


def multiplier(belief: Quantity, floor: Quantity | float, slope: Quantity | float) -> Quantity:
    r"""No evidence keeps half of the retrieval score, full evidence all of it.

    $$ \text{multiplier} = 0.5 + 0.05 \cdot \text{belief} $$

    >>> [multiplier(belief, 0.5, 0.05) for belief in (0.0, 5.0, 10.0)]
    [0.5, 0.75, 1.0]
    """
    return floor + slope * belief


def corroborates(shared_entities: int, cosine: float, *, needed: int, threshold: float, conflict: bool) -> bool:
    r"""A new memory supports an old one: shared entities, a similar claim and no contradictory signal.

    $$ |E_1 \cap E_2| \ge 1 \ \wedge\ \cos \ge 0.85 \ \wedge\ \text{no conflict} $$

    >>> [corroborates(1, 0.85, needed=1, threshold=0.85, conflict=conflict) for conflict in (False, True)]
    [True, False]
    """
    return shared_entities >= needed and cosine >= threshold and not conflict


def may_contradict(shared_entities: int, cosine: float, *, needed: int, low: float, high: float) -> bool:
    r"""Same topic, perhaps another claim: worth asking a judge.

    $$ |E_1 \cap E_2| \ge 2 \ \wedge\ 0.40 \le \cos \le c_{\max} $$

    >>> [may_contradict(2, cosine, needed=2, low=0.40, high=0.75) for cosine in (0.39, 0.40, 0.75, 0.93)]
    [False, True, True, False]
    """
    return shared_entities >= needed and low <= cosine <= high
