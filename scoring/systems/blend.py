"""blend (ours): what measured best. Raw scores fused after scaling, reranked word by word, weighed by trust and age."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.batches import Batches
from scoring.fusion import probability
from scoring.params import not_all_zero, number, switch
from scoring.signals import RETRIEVERS, Signals
from scoring.systems import recall
from scoring.systems.candidates import FiveRetrievers, asked_of_each
from scoring.systems.system import System
from scoring.term import Array, Mask, Term, const, given, product, scale, total

ROUTES = (*RETRIEVERS, "context")
_weight = partial(number, group="Fusion", low=0, high=1, step=0.01, seed="ours")
_abstain = partial(number, group="Abstention", low=-20, high=20, step=0.1, seed="ours: fitted on LoCoMo's dev part")
_boost = partial(number, group="Fusion", low=0, high=3, step=0.05, seed="ours")
_factor = partial(number, group="Trust and age", low=0, high=1, step=0.01, seed="ours")


@dataclass(frozen=True)
class BlendParams(FiveRetrievers, recall.ConfidenceFloor, recall.HalfLives):
    """What blend lets a caller turn."""

    pool: int = asked_of_each(60, seed="ours: finds what 100 find, in less time")
    weight_semantic: float = _weight(0.6, "pull of meaning")
    weight_bm25: float = _weight(0.4, "pull of words")
    weight_entity: float = _weight(0.0, "pull of the entity list")
    weight_temporal: float = _weight(0.0, "pull of time")
    weight_traversal: float = _weight(0.0, "pull of paths")
    weight_context: float = _weight(0.0, "pull of a memory read with the turn before it")
    entity_boost: float = _boost(1.0, "lift for a memory of a named entity")
    temporal_boost: float = _boost(1.0, "lift for a memory of the time that is meant")
    rerank: float = number(
        0.75,
        "words matched one by one against the fused score",
        group="Reranking",
        low=0,
        high=1,
        step=0.05,
        seed="ours",
    )
    rerank_top: int = number(200, "how many are reranked", group="Reranking", low=1, high=500, step=1, seed="ours")
    trust: float = _factor(0.1, "how much confidence moves the score")
    age: float = _factor(0.2, "how much freshness moves the score")
    confidence_gate: bool = switch(False, "whether unsure memories are held back", group="Cut", seed="ours")

    abstain_below: float = _abstain(
        0.68,
        "the least chance of an answer that is told",
        low=0,
        high=1,
        step=0.01,
        seed="ours: loses 5 % of the demo world's answers",
    )
    abstain_intercept: float = _abstain(2.3, "the chance of an answer without a sign against it")
    abstain_gap: float = _abstain(-10.1, "what is known, but not of whom or not what the query asks")
    abstain_unmet: float = _abstain(-1.5, "words of the query that nothing meets")

    rules = (not_all_zero(*(f"weight_{route}" for route in ROUTES)),)


def fused(signals: Signals, params: BlendParams) -> Term:
    r"""A convex sum of the retrievers' raw scores, each scaled over the batch, and lifts for the named and the dated.

    $$ \text{fused} = \sum_i w_i \cdot \text{scaled}(\text{score}_i)
       + b_e \cdot \text{entity match} + b_t \cdot \text{proximity} $$
    """
    convex = []
    weights = params.weights(*(f"weight_{route}" for route in ROUTES))
    for route, weight in zip(ROUTES, weights, strict=True):
        raw = given(f"{route} score", signals.raw(route))
        if raw.present is None or raw.present.any():  # who found nobody brings nothing
            convex.append((weight * scale(raw, signals.batches).named(f"{route} in batch")).named(route))
    boost = (params["entity_boost"] * given("entity match", signals.entity_match)).only(signals.entity_match > 0)
    # Unscaled: where every memory lies in the window, scaling would leave nothing of it.
    dated = (params["temporal_boost"] * given("proximity", signals.raw("temporal"))).named("temporal boost")
    return total([*convex, boost.named("entity boost"), dated]).named("fused")


def bounded(x: Term, swing: Term) -> Term:
    """A factor around 1 that x in [0, 1] can move by half its swing."""
    return const(1.0) + swing * (x - const(0.5))


def expected(matched: Term, base: Term, batches: Batches) -> Term:
    """MaxSim of a memory whose words are not stored: as high among those of the others as its fused score stands.

    So it is never taken for a better match than the best that is known. Where nobody's words are stored there is no
    scale, and the fused score counts alone.
    """
    if matched.present is not None and not matched.present.any():
        return base
    ends = {"least": batches.lowest, "best": batches.highest}
    low, high = (
        given(f"{name} MaxSim", batches.told(end(matched.value, matched.present))) for name, end in ends.items()
    )
    return (low + (high - low) * scale(base, batches)).named("expected MaxSim")


def score(signals: Signals, params: BlendParams) -> Term:
    r"""Fuse, rerank the best by idf-weighted MaxSim, and weigh by trust and freshness.

    $$ \text{blend} = \left((1 - \alpha)\,\text{fused} + \alpha\,\text{MaxSim}\right) \times
       \left(1 + c_t(\text{confidence} - \frac{1}{2})\right) \times
       \left(1 + c_a(\text{freshness} - \frac{1}{2})\right) $$
    """
    base = fused(signals, params)
    top = signals.batches.leading(base.value, signals.by_id, params.rerank_top)
    matched = given("MaxSim", signals.maxsim)
    seen = np.ones(len(signals), bool) if matched.present is None else matched.present
    kept = ((const(1.0) - params["rerank"]) * base).named("kept of the fused score")
    words = (params["rerank"] * matched).only(top & seen).named("word by word")
    parts = [kept, words]
    if not seen.all():
        unknown = params["rerank"] * expected(matched, base, signals.batches)
        parts.append(unknown.only(top & ~seen).named("words unknown"))
    trust = bounded(given("confidence", signals.confidence), params["trust"]).named("trust")
    age = bounded(recall.freshness(signals, params), params["age"]).named("age")
    return product([total(parts).named("relevance"), trust, age]).named("blend")


def chance(signals: Signals, params: BlendParams, passed: Mask) -> Array:
    r"""How likely the best hit is an answer: whether what is asked is known of whom the query names.

    Whom it names is told by all candidates, what is known by those that pass the gates: of whom all is held back,
    nothing is.

    $$ P = \sigma\left(\beta_0 + \beta_g (\max_{d} \text{met}_d - \max_{d \in F} \text{of whom}_d \cdot \text{met}_d)
       + \beta_u \min_{d \in F} \text{unmet}_d\right) $$
    """
    batches = signals.batches
    fitting = passed & signals.of_what & (signals.of_whom > 0)
    gap = batches.highest(signals.met, passed) - batches.highest(signals.of_whom * signals.met, fitting)
    unmet = np.where(batches.any(fitting), batches.lowest(signals.unmet, fitting), 1.0)
    signs = np.array([gap, unmet]).T
    return probability(signs, np.array([params.abstain_gap, params.abstain_unmet]), params.abstain_intercept)


SYSTEM = System(
    name="blend",
    seed="ours",
    summary="Our own: raw scores fused, reranked word by word, weighed by trust and age.",
    params=BlendParams,
    routes=ROUTES,
    score=score,
    gates=recall.gates,
    chance=chance,
    alike=lambda signals: signals.batches.any(np.isfinite(signals.maxsim)),
    outputs={"fused": "fused", "relevance": "relevance"},
    shares={route: route for route in ROUTES},
)
