"""Source 000, read path: freshness, access boost and RRF in one retrieval weight."""

import math
from functools import partial

import numpy as np

from scoring import bm25, freshness, fusion, graph
from scoring.catalogue.entry import Formula, PrintedValue, SourceClaim, constants
from scoring.signals import TYPES, Signals
from scoring.systems import recall
from scoring.systems.recall import SYSTEM, RecallParams

_params = RecallParams()


def _boost(count: float) -> float:
    return float(freshness.access_boost(np.asarray(count)))


def _rrf(rank: float, k: float) -> float:
    return float(fusion.rrf_contribution(np.asarray(rank), 1.0, k))


def _appendix_c() -> Signals:
    """Signals of Appendix C at retrieval time."""
    return Signals(
        ids=np.array(["a"]),
        type=np.array([TYPES.index("Preference")]),
        age_days=np.array([90.0]),
        access_count=np.array([4.0]),
        ranks={"semantic": np.array([3.0]), "bm25": np.array([1.0])},
    )


def _appendix_c_term(name: str) -> float:
    term = recall.score(_appendix_c(), _params).find(name)
    return float(term.value[0]) if term else float("nan")


def _freshness(age: float, half_life: float) -> float:
    return float(freshness.effective_freshness(np.asarray(age), half_life, _params.freshness_floor))


def _spread(k: float) -> float:
    return float(fusion.rank_spread(k))


def _saturation(frequency: float) -> float:
    return float(bm25.saturation(np.asarray(frequency), 1.0, 1.0, _params.bm25_k1, _params.bm25_b))


_HALF_LIVES = {
    "half_life_entity": "365", "half_life_fact": "180", "half_life_relation": "180",
    "half_life_preference": "90", "half_life_event": "30",
}  # fmt: skip

WEIGHT = (
    Formula(
        "Freshness",
        "Exponential decay",
        freshness.exponential_freshness,
        (constants(RecallParams, _HALF_LIVES),),
        (
            PrintedValue("0.5", "an Event after 30 days", lambda: _freshness(30, _params.half_life_event)),
            PrintedValue("0.5", "a Preference after 90 days", lambda: _freshness(90, _params.half_life_preference)),
            PrintedValue("0.5", "an Entity after 365 days", lambda: _freshness(365, _params.half_life_entity)),
        ),
        symbols="t age in days, τ the half-life of the type",
    ),
    Formula(
        "Freshness floor",
        "Freshness floor",
        freshness.effective_freshness,
        (constants(RecallParams, {"freshness_floor": "0.1"}, freshness_floor=("0.0", "0.3")),),
        (PrintedValue("0.1", "a Fact after five years", lambda: _freshness(5 * 365, _params.half_life_fact)),),
        symbols="t age in days, τ the half-life of the type",
    ),
    Formula(
        "Access boost",
        "Access boost",
        freshness.access_boost,
        printed_values=(
            PrintedValue("1.000", "no accesses", partial(_boost, 0)),
            PrintedValue("1.693", "1 access", partial(_boost, 1)),
            PrintedValue("2.792", "5 accesses", partial(_boost, 5)),
            PrintedValue("3.398", "10 accesses", partial(_boost, 10)),
            PrintedValue("5.620", "100 accesses", partial(_boost, 100), "the paper's own Appendix C has 5.615"),
            PrintedValue("5.615", "100 accesses, Appendix C", partial(_boost, 100)),
            PrintedValue("1.6094", "ln 5", lambda: _boost(4) - 1),
            PrintedValue("2.609", "4 accesses, Appendix C", partial(_boost, 4)),
            PrintedValue("2.15", "100 accesses against 4", lambda: _boost(100) / _boost(4)),
            PrintedValue("101", "a linear boost after 100", lambda: 1 + 100),
            PrintedValue("25", "a linear boost, 100 against 4", lambda: (1 + 100) / (1 + 4), "101 ÷ 5 is 20.2"),
        ),
        claims=(
            SourceClaim(
                "a frequently accessed memory with a low RRF score does not surface",
                (
                    ("rank 50, two accesses", lambda: _rrf(50, 60) * _boost(2)),
                    ("rank 1, never accessed", lambda: _rrf(1, 60) * _boost(0)),
                ),
                "Two accesses lift rank 50 above an unaccessed rank 1.",
            ),
        ),
        note="At most one access counts per memory and session.",
    ),
    Formula(
        "Combined retrieval weight",
        "Combined retrieval weight",
        recall.score,
        (
            constants(RecallParams, {"min_confidence": "0.5"}, min_confidence=("0.3", "0.8")),
            constants(RecallParams, {"cut": "50"}),
        ),
        (
            PrintedValue("0.50", "freshness, Appendix C", lambda: _appendix_c_term("freshness")),
            PrintedValue("2.609", "access boost, Appendix C", lambda: _appendix_c_term("access boost")),
            PrintedValue(
                "1.3045",
                "freshness × access boost",
                lambda: _appendix_c_term("freshness") * _boost(4),
                "unrounded factors give 1.3047",
            ),
            PrintedValue(
                "1.305", "freshness × access boost, interpreted", lambda: _appendix_c_term("freshness") * _boost(4)
            ),
            PrintedValue(
                "0.04213", "weight, Appendix C", lambda: _appendix_c_term("weight"), "unrounded factors give .04210"
            ),
            PrintedValue("0.0421", "weight, Appendix C, rounded", lambda: _appendix_c_term("weight")),
        ),
        (
            SourceClaim(
                "the query of Appendix C has the word “PostgreSQL”",
                (),
                "It does not; the ranks of the example are taken as given.",
            ),
        ),
        note="The example's age of 90 days, 4 accesses and ranks 3 and 1 are its own data.",
    ),
)

_WEIGHTS = {
    "weight_semantic": "1.0", "weight_bm25": "1.0", "weight_entity": "1.0",
    "weight_temporal": "1.0", "weight_traversal": "0.8",
}  # fmt: skip

FUSION = (
    Formula(
        "Reciprocal rank fusion",
        "Reciprocal Rank Fusion",
        fusion.rrf,
        (
            constants(RecallParams, {"rrf_k": "60"}, rrf_k=("10", "200")),
            constants(RecallParams, _WEIGHTS),
        ),
        (
            PrintedValue("0.01587", "semantic, rank 3", lambda: _rrf(3, 60)),
            PrintedValue("0.01639", "BM25, rank 1", lambda: _rrf(1, 60)),
            PrintedValue("0.03226", "both", lambda: _appendix_c_term("RRF"), "the unrounded parts add up to .032266"),
            PrintedValue("0.0323", "both, rounded", lambda: _appendix_c_term("RRF")),
            PrintedValue("30", "k for exact-match workloads", lambda: float(SYSTEM.presets["exact-match"]["rrf_k"])),
            PrintedValue("90", "k for exploratory workloads", lambda: float(SYSTEM.presets["exploratory"]["rrf_k"])),
        ),
        symbols="wᵢ the weight of a retriever, k the smoothing constant, rank from 1, ∞ where absent",
    ),
    Formula(
        "Spread between ranks",
        "Why k=60",
        fusion.rank_spread,
        printed_values=(
            PrintedValue("0.091", "k 10, rank 1", lambda: _rrf(1, 10)),
            PrintedValue("0.017", "k 10, rank 50", lambda: _rrf(50, 10)),
            PrintedValue("5.4", "k 10, spread", partial(_spread, 10), "truncated, not rounded: 5.45"),
            PrintedValue("0.016", "k 60, rank 1", lambda: _rrf(1, 60)),
            PrintedValue("0.009", "k 60, rank 50", lambda: _rrf(50, 60)),
            PrintedValue("1.8", "k 60, spread", partial(_spread, 60)),
            PrintedValue("0.005", "k 200, rank 1", lambda: _rrf(1, 200)),
            PrintedValue("0.004", "k 200, rank 50", lambda: _rrf(50, 200)),
            PrintedValue("1.25", "k 200, spread", partial(_spread, 200), "a quotient of rounded values: 1.24"),
        ),
    ),
    Formula(
        "BM25",
        "BM25 Scoring",
        bm25.bm25,
        (constants(RecallParams, {"bm25_k1": "1.2", "bm25_b": "0.75"}),),
        (PrintedValue("32", "ts_rank_cd normalisation", lambda: bm25.TS_RANK_NORMALIZATION),),
        (
            SourceClaim(
                "five more occurrences after the 5th add less than the first",
                (
                    ("5 to 10", lambda: _saturation(10) - _saturation(5)),
                    ("0 to 1", lambda: _saturation(1) - _saturation(0)),
                ),
                "Ten occurrences count less than twice as much as one.",
                holds=True,
            ),
        ),
        note="In the mode ts_rank_cd, Postgres ranks content (weight A) and predicate (weight B); both find.",
        symbols="f the term’s frequency, |D| the memory’s length, avgdl the average, k₁ saturation, b length",
    ),
    Formula("Inverse document frequency", "BM25 Scoring", bm25.idf),
    Formula("Term saturation", "BM25 Scoring", bm25.saturation),
    Formula(
        "Hop score",
        "Hop score decay",
        graph.hop_score,
        (constants(RecallParams, {"hop_1": "1.0", "hop_2": "0.6", "hop_3": "0.35", "max_hops": "3"}),),
    ),
    Formula(
        "Path confidence",
        "Path confidence: MIN not product",
        graph.path_confidence,
        printed_values=(
            PrintedValue("0.51", "the product over three hops (not used)", lambda: math.prod((0.8, 0.8, 0.8))),
        ),
    ),
    Formula(
        "Entity score",
        "Reciprocal Rank Fusion",
        graph.entity_score,
        (constants(RecallParams, {"mention_weight": "0.6"}),),
        note="The paper scores a memory's subject; the lower weight of a mention is ours.",
    ),
    Formula(
        "Rank in a list",
        "The formula",
        fusion.retriever_ranks,
        note="Tie-breaking is ours.",
    ),
    Formula("Traversal score", "Path confidence: MIN not product", graph.traversal_score),
    Formula("Distance to a window", "Notation", freshness.window_distance, note="In half-widths of the window (ours)."),
    Formula(
        "Temporal proximity",
        "Notation",
        freshness.proximity,
        (
            constants(RecallParams, {"temporal_sigma": "1.0"}),
            constants(RecallParams, {"temporal_floor": "0.01"}),
        ),
        note="The paper names only the bandwidth; measuring in half-widths and the floor are ours.",
        symbols="Δ the distance to the window, σ the bandwidth",
    ),
)
