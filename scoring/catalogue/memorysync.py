"""Source 001, MemorySync's “Semantic Ranking”."""

from functools import partial

import numpy as np

from scoring import freshness, graph
from scoring.catalogue.entry import CatalogueSource, Formula, PrintedValue, SourceClaim, constants
from scoring.signals import NO_EMPHASIS, Signals
from scoring.systems import memorysync
from scoring.systems.memorysync import MemorysyncParams

_params = MemorysyncParams()


def _recency(hours: float, half_life: float) -> float:
    return float(freshness.recency(np.asarray(hours), half_life))


def _usage(count: float) -> float:
    return float(freshness.usage(np.asarray(count), _params.usage_ceiling))


def _sum_of_weights() -> float:
    return sum(float(weight.value) for weight in memorysync.factor_weights(_params, NO_EMPHASIS).values())


def _default(column: str) -> float:
    return float(getattr(Signals(ids=np.array(["a"])), column)[0])


SOURCE = CatalogueSource(
    number="001",
    title="MemorySync: Semantic Ranking",
    system="memorysync",
    formulas=(
        Formula(
            "Hybrid score",
            "The default formula",
            memorysync.score,
            (
                constants(
                    MemorysyncParams,
                    {
                        "weight_semantic": "0.40",
                        "weight_cluster": "0.20",
                        "weight_recency": "0.15",
                        "weight_importance": "0.15",
                        "weight_usage": "0.10",
                        "weight_quality": "0",
                        "weight_decay": "0",
                        "weight_graph": "0",
                    },
                ),
            ),
            (
                PrintedValue(
                    "1",
                    "sum of the default weights",
                    _sum_of_weights,
                ),
                PrintedValue("0.5", "default importance", partial(_default, "importance")),
            ),
            (
                SourceClaim(
                    "the ranker fuses seven factors",
                    (("factors the text names", lambda: float(len(memorysync.FACTORS))),),
                    "Eight are named: five with a weight, and quality, decay and graph at weight 0.",
                ),
            ),
            note="Every factor is min–max scaled over the candidates that pass the gates; a constant factor is 0.",
        ),
        Formula(
            "Semantic factor",
            "Semantic factor",
            memorysync.semantic_factor,
            printed_values=(
                PrintedValue(
                    "0", "a distance past 1 is clamped", lambda: float(memorysync.semantic_factor(np.asarray(1.4)))
                ),
                PrintedValue("1", "distance 0", lambda: float(memorysync.semantic_factor(np.asarray(0.0)))),
            ),
        ),
        Formula(
            "Recency factor",
            "Recency factor",
            freshness.recency,
            (constants(MemorysyncParams, {"half_life_high": "24", "half_life_medium": "72", "half_life_low": "168"}),),
            (
                PrintedValue("7", "days in the LOW half-life", lambda: _params.half_life_low / 24),
                PrintedValue(
                    "0.5", "after one half-life", lambda: _recency(72, _params.half_life_medium), derived=True
                ),
            ),
            (
                SourceClaim(
                    "older memories decay logarithmically",
                    (("after one half-life", lambda: _recency(72, 72)), ("after two", lambda: _recency(144, 72))),
                    "The formula is exponential: the value halves every half-life.",
                ),
            ),
            symbols="h hours since creation, h½ the half-life of the intent",
        ),
        Formula(
            "Usage factor",
            "Usage factor",
            freshness.usage,
            (constants(MemorysyncParams, {"usage_ceiling": "5.0"}),),
            (PrintedValue("1.0", "a thousand accesses", partial(_usage, 1000)),),
            symbols="n access count",
        ),
        Formula(
            "Cluster factor",
            "Cluster factor",
            memorysync.cluster_factor,
            printed_values=(
                PrintedValue(
                    "0", "an opposite centroid, −1", lambda: float(memorysync.cluster_factor(np.asarray(-1.0)))
                ),
                PrintedValue("1", "the same direction, 1", lambda: float(memorysync.cluster_factor(np.asarray(1.0)))),
            ),
            note="A memory without a cluster is its own centroid.",
        ),
        Formula(
            "Variance floor tiebreak",
            "The variance floor tiebreak",
            memorysync.order,
            (constants(MemorysyncParams, {"tiebreak_sigma": "0.02"}),),
            note="Population σ of the hybrid score, before boosts, of the candidates that pass the gates.",
        ),
        Formula(
            "Edge boosts",
            "Additive boosts",
            graph.edge_reach,
            (
                constants(
                    MemorysyncParams,
                    {
                        "boost_supports": "0.08",
                        "boost_extends": "0.07",
                        "boost_continuation": "0.06",
                        "boost_detail_of": "0.05",
                        "boost_summary_of": "0.04",
                        "boost_similar": "0.03",
                        "boost_references": "0.03",
                        "boost_derived_from": "0.02",
                        "boost_caused_by": "0.02",
                        "boost_contradiction": "0.01",
                    },
                ),
                constants(MemorysyncParams, {"anchors": "10", "traversal_depth": "2"}),
            ),
            note="Paths lead from the ten best of the semantic list over at most two edges, also to memories that the "
            "semantic list lacks (ours). If several edges reach a memory, the largest boost counts, once.",
        ),
        Formula(
            "Personalisation and session",
            "Additive boosts",
            memorysync.additive_boosts,
            (
                constants(
                    MemorysyncParams,
                    {
                        "personalisation_cap": "0.10",
                        "personalisation_rate": "0.10",
                        "session_boost": "0.03",
                        "affinity_top": "20",
                    },
                ),
            ),
            note="Affinity is the share of a memory's entities and tags that are in the user's top twenty (ours).",
        ),
        Formula(
            "Adaptive weights",
            "Adaptive weights",
            memorysync.factor_weights,
            (constants(MemorysyncParams, {"emphasis_bump": "0.15"}),),
            note="The query's words choose: factual raises semantic, recent recency, analytical graph; then the "
            "weights are normalised (ours). Weights that a request or a profile names are not adapted.",
            symbols="b the emphasis bump",
        ),
    ),
)
