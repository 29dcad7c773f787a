"""memorysync (source 001): a weighted sum of eight min–max scaled factors, plus small additive boosts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from scoring.freshness import recency, usage
from scoring.graph import edge_reach, strongest_edge
from scoring.params import BY_QUERY, choice, inert_while, inert_while_alone, not_all_zero, number
from scoring.signals import EDGE_KINDS, EMPHASES, INTENTS, NO_EMPHASIS, Signals
from scoring.specificity import Plan
from scoring.systems import recall
from scoring.systems.candidates import PoolParams
from scoring.systems.system import Order, System, Weighting, passing, top_by_score, validity_gates
from scoring.term import Codes, Mask, Quantity, Term, const, feature, largest, maximum, minimum, scale_in_batches, total

FACTORS = ("semantic", "cluster", "recency", "importance", "usage", "quality", "decay", "graph")
WEIGHTS = tuple(f"weight_{factor}" for factor in FACTORS)
EMPHASISED_FACTOR = dict(zip(EMPHASES, ("semantic", "recency", "graph"), strict=True))

INTENT_HALF_LIVES = tuple(f"half_life_{intent.lower()}" for intent in INTENTS)
EDGE_WEIGHTS = (*(f"boost_{kind}" for kind in EDGE_KINDS), "weight_graph", "emphasis_bump")


def unless_raised(factor: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two conditions under which no emphasis raises a factor."""
    others = tuple(emphasis for emphasis, raised in EMPHASISED_FACTOR.items() if raised != factor)
    return {"emphasis": (NO_EMPHASIS, *others)}, {"emphasis_bump": 0}


_weight = partial(number, group="Factors", low=0, high=1, step=0.01, source="001 The default formula")
_recency = partial(number, group="Recency", low=1, high=720, step=1, unit="h", source="001 Recency factor")
_boost = partial(number, group="Boosts", low=0, high=0.2, step=0.005, source="001 Additive boosts")
_edge_boost = partial(_boost, group="Edge boosts: the largest counts")


@dataclass(frozen=True)
class MemorysyncParams(PoolParams, recall.FreshnessParams):
    """Parameters of memorysync."""

    weight_semantic: float = _weight(0.40, "semantic weight")
    weight_cluster: float = _weight(0.20, "cluster weight (similarity to the topic)")
    weight_recency: float = _weight(0.15, "recency weight")
    weight_importance: float = _weight(0.15, "importance weight")
    weight_usage: float = _weight(0.10, "usage weight")
    weight_quality: float = _weight(0.0, "quality weight")
    weight_decay: float = _weight(0.0, "decay weight (recall's freshness)")
    weight_graph: float = _weight(0.0, "graph weight (edges to the top candidates)")
    emphasis: str = choice(
        BY_QUERY,
        "emphasis (weight profile: factual raises semantic, recent recency, analytical graph)",
        options=(BY_QUERY, NO_EMPHASIS, *EMPHASES),
        group="Factors",
        source="001 Adaptive weights",
    )
    emphasis_bump: float = _weight(
        0.15, "emphasis bump (added to that factor's weight)", source="ours: the paper calls it a soft tweak"
    )

    intent: str = choice(
        BY_QUERY,
        "intent that sets the recency half-life",
        options=(BY_QUERY, *INTENTS),
        group="Recency",
        source="001 Recency factor",
    )
    half_life_high: float = _recency(24.0, "half-life at HIGH recency intent")
    half_life_medium: float = _recency(72.0, "half-life at MEDIUM recency intent")
    half_life_low: float = _recency(168.0, "half-life at LOW recency intent")
    usage_ceiling: float = number(
        5.0,
        "usage ceiling (ln of accesses that counts as 1)",
        group="Factors",
        low=1,
        high=10,
        step=0.5,
        source="001 Usage factor",
    )

    tiebreak_sigma: float = number(
        0.02,
        "variance floor σ (tiebreak below it)",
        group="Tiebreak",
        low=0,
        high=0.1,
        step=0.005,
        source="001 The variance floor tiebreak",
    )
    anchors: int = number(
        10,
        "anchors (best of the semantic list, from which edges lead on)",
        group="Edge traversal",
        low=1,
        high=50,
        step=1,
        scope="candidates",
        source="ours: the paper names no number",
    )
    traversal_depth: int = number(
        2,
        "traversal depth, in edges from an anchor",
        group="Edge traversal",
        low=1,
        high=3,
        step=1,
        scope="candidates",
        source="ours: the paper says multi-hop",
    )
    boost_supports: float = _edge_boost(0.08, "boost over a supports edge")
    boost_extends: float = _edge_boost(0.07, "boost over an extends edge")
    boost_continuation: float = _edge_boost(0.06, "boost over a continuation edge")
    boost_detail_of: float = _edge_boost(0.05, "boost over a detail-of edge")
    boost_summary_of: float = _edge_boost(0.04, "boost over a summary-of edge")
    boost_similar: float = _edge_boost(0.03, "boost over a similar edge")
    boost_references: float = _edge_boost(0.03, "boost over a references edge")
    boost_derived_from: float = _edge_boost(0.02, "boost over a derived-from edge")
    boost_caused_by: float = _edge_boost(0.02, "boost over a caused-by edge")
    boost_contradiction: float = _edge_boost(0.01, "boost over a contradiction edge")
    personalisation_cap: float = _boost(0.10, "personalisation cap")
    personalisation_rate: float = _boost(0.10, "personalisation rate (boost at full affinity)")
    affinity_top: int = number(
        20,
        "most used entities and tags in a user's affinity",
        group="Boosts",
        low=1,
        high=100,
        step=1,
        scope="candidates",
        source="ours: the paper names no number",
    )
    session_boost: float = _boost(0.03, "session boost (returned earlier in this session)")

    rules = (not_all_zero(*WEIGHTS),)
    inert = (
        *inert_while_alone(*WEIGHTS, emphasis=NO_EMPHASIS),
        *inert_while_alone(*WEIGHTS, emphasis_bump=0),
        *(
            inert_while("recency has no weight", "intent", *INTENT_HALF_LIVES, weight_recency=0, **unraised)
            for unraised in unless_raised("recency")
        ),
        *(
            inert_while(
                f"the recency intent is {intent}",
                *(name for name in INTENT_HALF_LIVES if name != f"half_life_{intent.lower()}"),
                intent=intent,
            )
            for intent in INTENTS
        ),
        inert_while("usage has no weight", "usage_ceiling", weight_usage=0),
        inert_while("decay has no weight", *recall.FRESHNESS_NAMES, weight_decay=0),
        inert_while("no factor is emphasised", "emphasis_bump", emphasis=NO_EMPHASIS),
        inert_while("the emphasis bump is 0", "emphasis", emphasis_bump=0),
        inert_while(
            "edges have neither a boost nor a weight",
            "anchors",
            "traversal_depth",
            **dict.fromkeys(EDGE_WEIGHTS, 0),
        ),
        inert_while("the personalisation cap is 0", "personalisation_rate", "affinity_top", personalisation_cap=0),
        inert_while("the personalisation rate is 0", "personalisation_cap", "affinity_top", personalisation_rate=0),
    )

    @classmethod
    def implications(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """Weights that a request or a profile names are not adapted to the query."""
        adapts = given.get("emphasis", BY_QUERY) == BY_QUERY
        return {"emphasis": NO_EMPHASIS} if adapts and not given.keys().isdisjoint(WEIGHTS) else {}


def semantic_factor(distance: Quantity) -> Quantity:
    r"""Similarity of the memory to the query.

    $$ \text{semantic} = 1 - \mathrm{clamp}(\text{distance},\ 0,\ 1) $$
    """
    return 1.0 - minimum(maximum(distance, 0.0), 1.0)


def cluster_factor(cosine: Quantity) -> Quantity:
    r"""Similarity of the query to the centroid of the memory's cluster, mapped into [0, 1].

    $$ \text{cluster} = \frac{\cos(q, \text{centroid}) + 1}{2} $$
    """
    return (cosine + 1.0) / 2.0


def recency_half_life(signals: Signals, params: MemorysyncParams) -> Term:
    """The half-life of the query's intent, unless a parameter sets the intent."""
    intent = signals.intent if params.intent == BY_QUERY else params.intent
    return params[f"half_life_{intent.lower()}"]


def raw_factors(signals: Signals, params: MemorysyncParams) -> dict[str, Term]:
    """The unscaled factors; the graph factor needs anchors and is added later."""
    hours = feature("age in days", signals.age_days) * const(24.0)
    cluster = np.where(np.isnan(signals.cluster_cosine), signals.cosine, signals.cluster_cosine)
    return {
        "semantic": semantic_factor(feature("distance", 1.0 - signals.cosine)),
        "cluster": cluster_factor(feature("cosine to the cluster", cluster)),
        "recency": recency(hours, recency_half_life(signals, params)),
        "importance": feature("importance", signals.importance),
        "usage": usage(feature("access count", signals.access_count), params["usage_ceiling"]),
        "quality": feature("quality", signals.quality),
        "decay": recall.recall_freshness(signals, params),
    }


def hybrid_score(signals: Signals, params: MemorysyncParams, passed: Mask) -> tuple[Term, Mask]:
    """The weighted sum, and the anchors: the best of the semantic list that pass, from which edges lead on."""
    by_factor = factor_weights(params, chosen_emphasis(signals, params))
    parts = [
        (by_factor[name] * scale_factor(name, factor, signals, passed)).with_name(f"{name} share")
        for name, factor in raw_factors(signals, params).items()
    ]
    rank = signals.rank("semantic")
    anchors = signals.batches.top_mask(-rank, signals.id_ranks, params.anchors, among=passed & np.isfinite(rank))
    graph = scale_factor("graph", feature("best edge", strongest_edge(signals.edges, anchors)), signals, passed)
    return total([*parts, (by_factor["graph"] * graph).with_name("graph share")]).with_name("hybrid"), anchors


def scale_factor(name: str, factor: Term, signals: Signals, passed: Mask) -> Term:
    """Min–max scale a factor over the candidates that can come back: a gate's are not in the source's result batch."""
    return scale_in_batches(factor.with_name(name), signals.batches, among=passed).with_name(f"{name} in batch")


def chosen_emphasis(signals: Signals, params: MemorysyncParams) -> str:
    """The query's emphasis, unless a parameter sets it."""
    return signals.emphasis if params.emphasis == BY_QUERY else params.emphasis


def factor_weights(params: MemorysyncParams, emphasis: str) -> dict[str, Term]:
    r"""The eight weights with the bump of the emphasised factor, normalised to sum to 1; none is lowered before that.

    $$ w_i' = \frac{w_i + b\,[i\ \text{emphasised}]}{\sum_j w_j + b} $$
    """
    bumped = {factor: params[f"weight_{factor}"] for factor in FACTORS}
    if factor := EMPHASISED_FACTOR.get(emphasis):
        bumped[factor] = bumped[factor] + params["emphasis_bump"]
    denominator = total(bumped.values()).with_name("sum of weights")
    return {factor: (weight / denominator).with_name("weight") for factor, weight in bumped.items()}


def additive_boosts(signals: Signals, params: MemorysyncParams, anchors: Mask, passed: Mask) -> list[Term]:
    r"""The edge boost, the capped personalisation boost and the session boost.

    Several edges may reach a memory: the largest boost counts, once.

    $$ \max_{\text{edge}} b_{\text{edge}} + \min(0.10,\ 0.10 \cdot \text{affinity}) + 0.03\,[\text{returned}] $$
    """
    reach = edge_reach(signals.edges, anchors, params.traversal_depth, EDGE_KINDS, through=passed)
    edges = largest(params[f"boost_{kind}"].only(reach[kind]) for kind in EDGE_KINDS)
    affinity = params["personalisation_rate"] * feature("affinity", signals.affinity)
    personal = minimum(affinity, params["personalisation_cap"]).with_name("personalisation")
    session = params["session_boost"].only(signals.returned)
    return [edges.with_name("edge boost"), personal.only(signals.affinity > 0), session]


def score(signals: Signals, params: MemorysyncParams) -> Term:
    r"""The hybrid score plus the additive boosts.

    $$ \text{hybrid_score} = 0.40\,\text{semantic_norm} + 0.20\,\text{cluster_norm} + 0.15\,\text{recency_norm}
       + 0.15\,\text{importance_norm} + 0.10\,\text{usage_norm} $$
    """
    passed = passing(signals, validity_gates(signals, params))
    base, anchors = hybrid_score(signals, params, passed)
    return total([base, *additive_boosts(signals, params, anchors, passed)]).with_name("memorysync")


def order(
    score: Term, signals: Signals, params: MemorysyncParams, passed_rows: Codes, top_k: int, diversify: bool
) -> Order:
    r"""By descending score; if σ of those that pass is below the floor, by semantic, importance, recency and id.

    $$ \sigma(\text{hybrid}) < 0.02 \Rightarrow \text{tiebreak} $$
    """
    base, batches = score.find("hybrid"), signals.batches
    if base is None or not len(passed_rows):
        return Order(passed_rows)
    flat = np.broadcast_to(
        batches.broadcast(batches.standard_deviations(base.value, passed_rows) < params.tiebreak_sigma), len(signals)
    )[passed_rows]
    by_value, tied = top_by_score(score, signals, passed_rows[~flat], top_k), passed_rows[flat]
    if not len(tied):
        return Order(by_value)
    semantic = np.clip(signals.cosine, 0.0, 1.0)
    age = np.maximum(signals.age_days, 0.0)
    keys = (-signals.id_ranks[tied], age[tied], -signals.importance[tied], -semantic[tied], batches.batch_index[tied])
    rows = np.concatenate([by_value, batches.first(tied[np.lexsort(keys)], top_k)])
    return Order(rows[np.argsort(batches.batch_index[rows], kind="stable")], tiebreak_applied=True)


def settle(params: MemorysyncParams, signals: Signals, plan: Plan) -> MemorysyncParams:
    """Intent and emphasis as the query set them."""
    chosen = weighting(signals, params)
    return params.with_choices(intent=chosen.intent, emphasis=chosen.emphasis)


def weighting(signals: Signals, params: MemorysyncParams) -> Weighting:
    """What the query and the parameters made of weights and half-life."""
    emphasis, half_life = chosen_emphasis(signals, params), recency_half_life(signals, params)
    return Weighting(
        intent=str(half_life.name).removeprefix("half_life_").upper(),
        half_life_hours=float(half_life.value),
        emphasis=emphasis,
        raised=EMPHASISED_FACTOR.get(emphasis),
        weights={factor: float(weight.value) for factor, weight in factor_weights(params, emphasis).items()},
    )


SYSTEM = System(
    name="memorysync",
    source="001",
    summary="Weighted sum of eight min–max scaled factors, plus boosts for edges, affinity and session.",
    params=MemorysyncParams,
    retrievers=("semantic", "edges"),
    optional_features=("tags", "edges", "clusters", "returned", "mentions"),
    score=score,
    order=order,
    query_features=("intent", "emphasis"),
    weighting=weighting,
    settle=settle,
    presets={emphasis: {"emphasis": emphasis} for emphasis in EMPHASES},
    retriever_terms={"semantic": "semantic share", "edges": "edge boost"},
    weighted_by={"edges": EDGE_WEIGHTS},
    outputs={"hybrid_score": "hybrid", **{f"{factor}_norm": f"{factor} in batch" for factor in FACTORS}},
)
