"""memorysync (seed 001): eight factors scaled over the batch into one hybrid score, and small boosts on top."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.freshness import recency, usage
from scoring.graph import best_edge, edge_reach
from scoring.params import choice, not_all_zero, number
from scoring.signals import EDGES, INTENTS, Signals
from scoring.systems import recall
from scoring.systems.candidates import Pool
from scoring.systems.system import Order, System, by_score
from scoring.term import Codes, Mask, Quantity, Term, best, const, given, least, most, scale, total

FACTORS = ("semantic", "cluster", "recency", "importance", "usage", "quality", "decay", "graph")
EMPHASES = {"factual": "semantic", "recent": "recency", "analytical": "graph"}

_weight = partial(number, group="Factors", low=0, high=1, step=0.01, seed="001 The default formula")
_recency = partial(number, group="Recency", low=1, high=720, step=1, unit="h", seed="001 Recency factor")
_boost = partial(number, group="Boosts", low=0, high=0.2, step=0.005, seed="001 Additive boosts")


@dataclass(frozen=True)
class MemorysyncParams(Pool, recall.HalfLives):
    """What memorysync lets a caller turn."""

    weight_semantic: float = _weight(0.40, "pull of meaning")
    weight_cluster: float = _weight(0.20, "pull of the topic")
    weight_recency: float = _weight(0.15, "pull of the last days")
    weight_importance: float = _weight(0.15, "pull of importance")
    weight_usage: float = _weight(0.10, "pull of use")
    weight_quality: float = _weight(0.0, "pull of quality")
    weight_decay: float = _weight(0.0, "pull of recall's freshness")
    weight_graph: float = _weight(0.0, "pull of edges to the best")
    emphasis: str = choice(
        "none",
        "which factor the query's intent lifts",
        options=("none", *EMPHASES),
        group="Factors",
        seed="001 Adaptive weights",
    )
    emphasis_bump: float = _weight(0.15, "by how much it is lifted", seed="ours: the paper calls it a soft tweak")

    intent: str = choice(
        "query", "whose half-life counts", options=("query", *INTENTS), group="Recency", seed="001 Recency factor"
    )
    half_life_high: float = _recency(24.0, "a query about right now")
    half_life_medium: float = _recency(72.0, "an ordinary query")
    half_life_low: float = _recency(168.0, "a query for background")
    usage_ceiling: float = number(
        5.0, "where use stops counting", group="Factors", low=1, high=10, step=0.5, seed="001 Usage factor"
    )

    tiebreak_sigma: float = number(
        0.02,
        "below this spread the ranking counts as flat",
        group="Tiebreak",
        low=0,
        high=0.1,
        step=0.005,
        seed="001 The variance floor tiebreak",
    )
    anchors: int = number(
        10,
        "how many of the best pull others up",
        group="Boosts",
        low=1,
        high=50,
        step=1,
        seed="ours: the paper names no number",
    )
    traversal_depth: int = number(
        1,
        "how many edges away a boost reaches",
        group="Boosts",
        low=1,
        high=3,
        step=1,
        seed="ours: the paper says multi-hop",
    )
    boost_supports: float = _boost(0.08, "reached by a supports edge")
    boost_extends: float = _boost(0.07, "reached by an extends edge")
    boost_continuation: float = _boost(0.06, "reached by a continuation edge")
    boost_detail_of: float = _boost(0.05, "reached by a detail-of edge")
    boost_summary_of: float = _boost(0.04, "reached by a summary-of edge")
    boost_similar: float = _boost(0.03, "reached by a similar edge")
    boost_references: float = _boost(0.03, "reached by a references edge")
    boost_derived_from: float = _boost(0.02, "reached by a derivation")
    boost_caused_by: float = _boost(0.02, "reached by a cause")
    boost_contradiction: float = _boost(0.01, "a contradiction, shown to be seen")
    personalisation_cap: float = _boost(0.10, "the most that affinity adds")
    personalisation_rate: float = _boost(0.10, "what full affinity adds")
    affinity_top: int = number(
        20,
        "how many of a user's most used entities and tags count as theirs",
        group="Boosts",
        low=1,
        high=100,
        step=1,
        scope="candidates",
        seed="ours: the paper names no number",
    )
    session_boost: float = _boost(0.03, "returned earlier in this session")

    rules = (not_all_zero(*(f"weight_{factor}" for factor in FACTORS)),)


def semantic_factor(distance: Quantity) -> Quantity:
    r"""The only factor that looks at the query itself.

    $$ \text{semantic} = 1 - \mathrm{clamp}(\text{distance},\ 0,\ 1) $$
    """
    return 1.0 - least(most(distance, 0.0), 1.0)


def cluster_factor(cosine: Quantity) -> Quantity:
    r"""Similarity of the query to the centroid of the memory's cluster, mapped into [0, 1].

    $$ \text{cluster} = \frac{\cos(q, \text{centroid}) + 1}{2} $$
    """
    return (cosine + 1.0) / 2.0


def raw_factors(signals: Signals, params: MemorysyncParams) -> dict[str, Term]:
    """What each factor measures, before it is scaled over the batch; the graph factor comes later."""
    intent = signals.intent if params.intent == "query" else params.intent
    hours = given("age in days", signals.age_days) * const(24.0)
    own = np.where(np.isnan(signals.cluster_cosine), signals.cosine, signals.cluster_cosine)
    return {
        "semantic": semantic_factor(given("distance", 1.0 - signals.cosine)),
        "cluster": cluster_factor(given("cosine to the cluster", own)),
        "recency": recency(hours, params[f"half_life_{intent.lower()}"]),
        "importance": given("importance", signals.importance),
        "usage": usage(given("access count", signals.access_count), params["usage_ceiling"]),
        "quality": given("quality", signals.quality),
        "decay": recall.freshness(signals, params),
    }


def hybrid(signals: Signals, params: MemorysyncParams) -> tuple[Term, Mask]:
    """The weighted factors, and the candidates that lead without the help of edges: these anchor every boost."""
    weighed = weights(params)
    parts = [
        (weighed[name] * in_batch(name, factor, signals)).named(f"{name} share")
        for name, factor in raw_factors(signals, params).items()
    ]
    anchors = signals.batches.leading(total(parts).value, signals.by_id, params.anchors)
    graph = in_batch("graph", given("best edge", best_edge(signals.edges, anchors)), signals)
    return total([*parts, (weighed["graph"] * graph).named("graph share")]).named("hybrid"), anchors


def in_batch(name: str, factor: Term, signals: Signals) -> Term:
    """A factor scaled by the least and the greatest value of the current batch."""
    return scale(factor.named(name), signals.batches).named(f"{name} in batch")


def weights(params: MemorysyncParams) -> dict[str, Term]:
    r"""The eight weights, the emphasised one lifted, divided by their sum.

    $$ w_i' = \frac{w_i + b\,[i\ \text{emphasised}]}{\sum_j w_j + b} $$
    """
    lifted = {factor: params[f"weight_{factor}"] for factor in FACTORS}
    if params.emphasis in EMPHASES:
        lifted[EMPHASES[params.emphasis]] = lifted[EMPHASES[params.emphasis]] + params["emphasis_bump"]
    whole = total(lifted.values()).named("sum of weights")
    return {factor: (weight / whole).named("weight") for factor, weight in lifted.items()}


def boosts(signals: Signals, params: MemorysyncParams, anchors: Mask) -> list[Term]:
    r"""The largest edge that lands here, what the user cares for, what this session has seen.

    $$ \max_{\text{edge}} b_{\text{edge}} + \min(0.10,\ 0.10 \cdot \text{affinity}) + 0.03\,[\text{returned}] $$
    """
    reach = edge_reach(signals.edges, anchors, params.traversal_depth, EDGES)
    edges = best(params[f"boost_{kind}"].only(reach[kind]) for kind in EDGES)
    affinity = params["personalisation_rate"] * given("affinity", signals.affinity)
    personal = least(affinity, params["personalisation_cap"]).named("personalisation")
    session = params["session_boost"].only(signals.returned)
    return [edges.named("edge boost"), personal.only(signals.affinity > 0), session]


def score(signals: Signals, params: MemorysyncParams) -> Term:
    r"""hybrid_score, plus the additive boosts.

    $$ \text{hybrid_score} = 0.40\,\text{semantic_norm} + 0.20\,\text{cluster_norm} + 0.15\,\text{recency_norm}
       + 0.15\,\text{importance_norm} + 0.10\,\text{usage_norm} $$
    """
    base, anchors = hybrid(signals, params)
    return total([base, *boosts(signals, params, anchors)]).named("memorysync")


def order(score: Term, signals: Signals, params: MemorysyncParams, kept: Codes, top_k: int, diversify: bool) -> Order:
    r"""Falling score; a flat batch is put in order by semantic, importance, recency and id, all falling.

    $$ \sigma(\text{hybrid}) < 0.02 \Rightarrow \text{tiebreak} $$
    """
    base, batches = score.find("hybrid"), signals.batches
    if base is None or not len(kept):
        return Order(kept)
    flat = np.broadcast_to(batches.told(batches.deviations(base.value) < params.tiebreak_sigma), len(signals))[kept]
    steep, even = by_score(score, signals, kept[~flat], top_k), kept[flat]
    if not len(even):
        return Order(steep)
    semantic = np.clip(signals.cosine, 0.0, 1.0)
    age = np.maximum(signals.age_days, 0.0)
    keys = (-signals.by_id[even], age[even], -signals.importance[even], -semantic[even], batches.of_each[even])
    rows = np.concatenate([steep, batches.first(even[np.lexsort(keys)], top_k)])
    return Order(rows[np.argsort(batches.of_each[rows], kind="stable")], tiebreak_applied=True)


SYSTEM = System(
    name="memorysync",
    seed="001",
    summary="Scales eight factors over the batch, then adds small boosts for edges, affinity and session.",
    params=MemorysyncParams,
    routes=("semantic",),
    reads=("tags", "edges", "clusters", "returned", "mentions"),
    score=score,
    order=order,
    presets={emphasis: {"emphasis": emphasis} for emphasis in EMPHASES},
    shares={"semantic": "semantic share"},
    outputs={"hybrid_score": "hybrid", **{f"{factor}_norm": f"{factor} in batch" for factor in FACTORS}},
)
