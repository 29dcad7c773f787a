"""blend (ours): what measured best. Raw scores fused after scaling, reranked word by word, weighed by trust and age."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.params import not_all_zero, number, switch
from scoring.signals import RETRIEVERS, Signals
from scoring.systems import recall
from scoring.systems.system import System, by_score
from scoring.term import Term, const, given, product, scale, total

_weight = partial(number, group="Fusion", low=0, high=1, step=0.01, seed="ours")
_factor = partial(number, group="Trust and age", low=0, high=1, step=0.01, seed="ours")


@dataclass(frozen=True)
class BlendParams(recall.ConfidenceFloor, recall.HalfLives):
    """What blend lets a caller turn."""

    weight_semantic: float = _weight(0.5, "pull of meaning")
    weight_bm25: float = _weight(0.5, "pull of words")
    weight_entity: float = _weight(0.0, "pull of the entity list")
    weight_temporal: float = _weight(0.0, "pull of time")
    weight_traversal: float = _weight(0.0, "pull of paths")
    entity_boost: float = _weight(0.1, "lift for a memory of a named entity")
    rerank: float = number(
        0.7,
        "words matched one by one against the fused score",
        group="Reranking",
        low=0,
        high=1,
        step=0.05,
        seed="ours",
    )
    rerank_top: int = number(50, "how many are reranked", group="Reranking", low=1, high=200, step=1, seed="ours")
    trust: float = _factor(0.1, "how much confidence moves the score")
    age: float = _factor(0.1, "how much freshness moves the score")
    confidence_gate: bool = switch(False, "whether unsure memories are held back", group="Cut", seed="ours")

    rules = (not_all_zero(*(f"weight_{retriever}" for retriever in RETRIEVERS)),)


def fused(signals: Signals, params: BlendParams) -> Term:
    """A convex sum of the retrievers' raw scores, each scaled over the batch, and a lift for named entities."""
    weights = params.weights(*(f"weight_{retriever}" for retriever in RETRIEVERS))
    scores = (scale(given(f"{retriever} score", signals.raw(retriever))).named(retriever) for retriever in RETRIEVERS)
    convex = [weight * score for weight, score in zip(weights, scores, strict=True)]
    boost = (params["entity_boost"] * given("entity match", signals.entity_match)).only(signals.entity_match > 0)
    return total([*convex, boost.named("entity boost")]).named("fused")


def bounded(x: Term, swing: Term) -> Term:
    """A factor around 1 that x in [0, 1] can move by half its swing."""
    return const(1.0) + swing * (x - const(0.5))


def score(signals: Signals, params: BlendParams) -> Term:
    r"""Fuse, rerank the best by idf-weighted MaxSim, and weigh by trust and freshness.

    $$ \left((1 - \alpha)\,\text{fused} + \alpha\,\text{MaxSim}\right) \times
       \left(1 + c_t(\text{confidence} - \frac{1}{2})\right) \times
       \left(1 + c_a(\text{freshness} - \frac{1}{2})\right) $$
    """
    base = fused(signals, params)
    top = np.zeros(len(signals), bool)
    top[by_score(base, signals, np.arange(len(signals)))[: params.rerank_top]] = True
    kept = ((const(1.0) - params["rerank"]) * base).named("kept of the fused score")
    matched = (params["rerank"] * given("MaxSim", signals.maxsim)).only(top).named("word by word")
    trust = bounded(given("confidence", signals.confidence), params["trust"]).named("trust")
    age = bounded(recall.freshness(signals, params), params["age"]).named("age")
    return product([total([kept, matched]).named("relevance"), trust, age]).named("blend")


SYSTEM = System(
    name="blend",
    seed="ours",
    summary="Our own: raw scores fused, reranked word by word, weighed by trust and age.",
    params=BlendParams,
    routes=RETRIEVERS,
    score=score,
    gates=recall.gates,
    outputs={"fused": "fused", "relevance": "relevance"},
)
