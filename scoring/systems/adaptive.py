"""adaptive (seed 002): recall's weight, multiplied by what evidence has made of the belief in a memory."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.belief import multiplier
from scoring.freshness import access_boost
from scoring.params import number
from scoring.policy import WritePolicy
from scoring.signals import RETRIEVERS, Signals
from scoring.systems import recall
from scoring.systems.system import System
from scoring.term import Term, const, given, product

_belief = partial(number, group="Belief", seed="002 Step-by-Step Implementation")


@dataclass(frozen=True)
class AdaptiveParams(recall.RecallParams):
    """What adaptive adds to recall's parameters."""

    belief_floor: float = _belief(0.5, "what a disbelieved memory keeps", low=0, high=1, step=0.01)
    belief_slope: float = _belief(0.05, "gain from each point of belief", low=0, high=0.1, step=0.005)
    protected_above: float = _belief(
        WritePolicy().belief_protected, "above this belief a memory does not fade", low=5, high=10, step=0.1
    )


def freshness(signals: Signals, params: AdaptiveParams) -> Term:
    """Memories above the protected belief resist decay; the others fade as in recall."""
    protected = signals.belief > params.protected_above
    fading = recall.freshness(signals, params)
    kept = const(1.0).named("protected from decay")
    # Each row has one of the two: the product leaves out the one that is absent.
    return product([fading.only(~protected), kept.only(protected)]).named("freshness") if protected.any() else fading


def score(signals: Signals, params: AdaptiveParams) -> Term:
    r"""A linear mapping of belief 0–10 to a multiplier of 0.5–1.0 on the retrieval weight.

    $$ \text{score}(m) = \text{weight}(m) \times (0.5 + 0.05 \cdot \text{belief}) $$
    """
    boost = access_boost(given("access count", signals.access_count)).named("access boost")
    belief = given("belief", np.clip(signals.belief, 0.0, 10.0))
    trust = multiplier(belief, params["belief_floor"], params["belief_slope"]).named("evidence")
    return product([recall.fused(signals, params), freshness(signals, params), boost, trust]).named("adaptive")


SYSTEM = System(
    name="adaptive",
    seed="002",
    summary="recall's weight, lifted or lowered by corroboration and contradiction.",
    params=AdaptiveParams,
    routes=RETRIEVERS,
    reads=("vectors",),
    score=score,
    gates=recall.gates,
    order=recall.order,
    outputs={**recall.SYSTEM.outputs, "evidence": "evidence"},
    shares=recall.SYSTEM.shares,
)
