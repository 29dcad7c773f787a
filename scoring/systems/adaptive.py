"""adaptive (source 002): recall's weight times a multiplier from the belief in a memory."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.belief import belief_multiplier
from scoring.freshness import access_boost
from scoring.params import number
from scoring.signals import RETRIEVERS, Signals
from scoring.systems import recall
from scoring.systems.system import System
from scoring.term import Term, const, feature, product

_belief = partial(number, group="Belief", source="002 Step-by-Step Implementation")


@dataclass(frozen=True)
class AdaptiveParams(recall.RecallParams):
    """Parameters of adaptive, in addition to recall's."""

    belief_floor: float = _belief(0.5, "belief floor (multiplier at belief 0)", low=0, high=1, step=0.01)
    belief_slope: float = _belief(0.05, "belief slope (multiplier per point of belief)", low=0, high=0.1, step=0.005)


def adaptive_freshness(signals: Signals, params: AdaptiveParams) -> Term:
    """Memories that the namespace's write policy protects do not decay; the others do as in recall."""
    protected = signals.protected
    decayed = recall.recall_freshness(signals, params)
    constant = const(1.0).with_name("protected from decay")
    if not protected.any():
        return decayed
    # Exactly one of the two is present in each row, and the product skips the absent one.
    return product([decayed.only(~protected), constant.only(protected)]).with_name("freshness")


def score(signals: Signals, params: AdaptiveParams) -> Term:
    r"""A linear mapping of belief 0–10 to a multiplier of 0.5–1.0 on the retrieval weight.

    $$ \text{score}(m) = \text{weight}(m) \times (0.5 + 0.05 \cdot \text{belief}) $$
    """
    boost = access_boost(feature("access count", signals.access_count)).with_name("access boost")
    belief = feature("belief", np.clip(signals.belief, 0.0, 10.0))
    trust = belief_multiplier(belief, params["belief_floor"], params["belief_slope"]).with_name("evidence")
    return product([recall.recall_rrf(signals, params), adaptive_freshness(signals, params), boost, trust]).with_name(
        "adaptive"
    )


SYSTEM = System(
    name="adaptive",
    source="002",
    summary="recall's weight, scaled by belief: corroboration raises it, contradiction lowers it.",
    params=AdaptiveParams,
    retrievers=RETRIEVERS,
    optional_features=("vectors", "policy"),
    score=score,
    gates=recall.gates,
    order=recall.order,
    diversifies=recall.diversifies,
    diversified_by=recall.SYSTEM.diversified_by,
    presets=recall.SYSTEM.presets,
    settle=recall.settle,
    outputs={**recall.SYSTEM.outputs, "evidence": "evidence"},
    retriever_terms=recall.SYSTEM.retriever_terms,
)
