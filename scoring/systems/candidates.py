"""Retrieval parameters that several systems share."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.params import Inert, Params, Rule, choice, inert_while, inert_while_alone, not_all_zero, number

_TABLE = "000 All Thresholds in One Place"
_bm25 = partial(number, group="BM25", scope="candidates", source="000 BM25 Scoring")
_temporal = partial(number, group="Temporal", scope="candidates")
_maxsim = partial(number, group="Reranking", scope="candidates", source="ours")
_traversal = partial(
    number, group="Graph traversal", low=0, high=1, step=0.01, scope="candidates", source="000 Hop score decay"
)
_plan = partial(number, group="Plan", scope="candidates")
SPECIFICITY_WEIGHTS = ("specificity_entities", "specificity_time", "specificity_rarity", "specificity_type")
_specificity = partial(
    number, group="Plan", low=0, high=1, step=0.01, scope="candidates", source="000 Query Specificity"
)


pool_size = partial(
    number,
    affects="pool (candidates per retriever)",
    group="Candidates",
    low=10,
    high=500,
    step=10,
    scope="candidates",
)


@dataclass(frozen=True)
class PoolParams(Params):
    """Pool size: candidates fetched per retriever."""

    pool: int = pool_size(100, source="ours: the papers name no pool")


@dataclass(frozen=True)
class MaxSimParams(Params):
    """Parameters of the MaxSim reranker."""

    maxsim_power: float = _maxsim(1.5, "MaxSim exponent (higher favours close matches)", low=1, high=4, step=0.1)
    maxsim_before: float = _maxsim(0.95, "MaxSim weight of the preceding turn", low=0, high=1, step=0.05)
    maxsim_window: int = _maxsim(128, "MaxSim passage length", low=16, high=512, step=16, unit="words")
    maxsim_covered: float = _maxsim(0.6, "similarity at which a query term is covered", low=0, high=1, step=0.05)
    stop_weight: float = _maxsim(0.5, "stop word weight", low=0, high=3, step=0.1)


@dataclass(frozen=True)
class RetrieverParams(MaxSimParams, PoolParams):
    """Parameters of the paper's five retrievers."""

    bm25_k1: float = _bm25(1.2, "BM25 k1 (term frequency saturation)", low=0, high=3, step=0.05)
    bm25_b: float = _bm25(0.75, "BM25 b (length normalisation)", low=0, high=1, step=0.01)
    lexical: str = choice(
        "bm25",
        "lexical ranking function",
        options=("bm25", "ts_rank_cd"),
        group="BM25",
        scope="candidates",
        source="000 BM25 Scoring",
    )
    mention_weight: float = number(
        0.6,
        "mention weight, against 1 for the subject",
        group="Entity graph",
        low=0,
        high=1,
        step=0.05,
        scope="candidates",
        source="ours: the paper scores subjects only",
    )
    temporal_sigma: float = _temporal(
        1.0, "temporal σ, in half-widths of the window", low=0.1, high=5, step=0.1, source="000 Notation"
    )
    temporal_floor: float = _temporal(
        0.01, "minimum temporal proximity", low=0, high=0.5, step=0.01, source="ours: the paper has no floor"
    )
    hop_1: float = _traversal(1.0, "hop score at 1 hop")
    hop_2: float = _traversal(0.6, "hop score at 2 hops")
    hop_3: float = _traversal(0.35, "hop score at 3 hops")
    max_hops: int = _traversal(3, "max hops", low=1, high=3, step=1)


MAXSIM_NAMES = ("maxsim_power", "maxsim_before", "maxsim_window", "stop_weight")
BM25_NAMES = ("lexical", "bm25_k1", "bm25_b")
TEMPORAL_NAMES = ("temporal_sigma", "temporal_floor")
TRAVERSAL_NAMES = ("max_hops", "hop_1", "hop_2", "hop_3")
# Of every system with the paper's retrievers.
INERT_IN_RETRIEVERS = (
    inert_while("the lexical ranking function is ts_rank_cd", "bm25_k1", "bm25_b", lexical="ts_rank_cd"),
    inert_while("traversal ends before", "hop_2", "hop_3", max_hops=1),
    inert_while("traversal ends before", "hop_3", max_hops=2),
    inert_while("BM25 has no weight", *BM25_NAMES, weight_bm25=0),
    inert_while("graph traversal has no weight", *TRAVERSAL_NAMES, weight_traversal=0),
)


@dataclass(frozen=True)
class PlanParams(RetrieverParams):
    """Thresholds and weights of the query planner."""

    reranker: str = choice(
        "plan",
        "reranker (MaxSim)",
        options=("plan", "on", "off"),
        group="Plan",
        scope="candidates",
        source="000 Query Specificity",
    )
    rerank_top: int = number(
        50,
        "candidates reranked by the cross-encoder, if configured",
        group="Plan",
        low=1,
        high=500,
        step=1,
        scope="candidates",
        source="ours",
    )
    specificity_entities: float = _specificity(0.35, "weight of entity density in specificity")
    specificity_time: float = _specificity(0.25, "weight of temporal precision in specificity")
    specificity_rarity: float = _specificity(0.25, "weight of lexical rarity in specificity")
    specificity_type: float = _specificity(0.15, "weight of type cues in specificity")
    precise_from: float = _plan(
        0.8, "minimum specificity of the precise plan", low=0.7, high=0.9, step=0.01, source=_TABLE
    )
    exploratory_below: float = _plan(
        0.4, "specificity below which the plan is exploratory", low=0.3, high=0.5, step=0.01, source=_TABLE
    )
    entity_above: float = _plan(
        0.85, "entity match above which the plan is entity-centric", low=0.7, high=0.9, step=0.01, source=_TABLE
    )
    window_from: float = _plan(
        0.7,
        "minimum window precision of the temporal plan",
        low=0.1,
        high=1,
        step=0.1,
        source="ours: the paper says “precise window”",
    )
    entity_plan_weight: float = _plan(
        2.0,
        "entity graph weight in the entity-centric plan",
        low=0,
        high=3,
        step=0.05,
        source="000 Default retriever weights",
    )
    temporal_plan_weight: float = _plan(
        1.5, "temporal weight in the temporal plan", low=0, high=3, step=0.05, source="000 Default retriever weights"
    )
    precise_top_k: int = _plan(5, "top k of the precise plan", low=1, high=50, step=1, source="000 Query Specificity")

    rules: ClassVar[tuple[Rule, ...]] = (not_all_zero(*SPECIFICITY_WEIGHTS),)
    inert: ClassVar[tuple[Inert, ...]] = (
        *INERT_IN_RETRIEVERS,
        *inert_while_alone(*SPECIFICITY_WEIGHTS),
        inert_while("the reranker is off", "weight_rerank", "rerank_top", *MAXSIM_NAMES, reranker="off"),
        inert_while("the reranker has no weight", "reranker", "rerank_top", *MAXSIM_NAMES, weight_rerank=0),
        inert_while("the system does not abstain", "maxsim_covered"),
        inert_while("the temporal retriever has no weight", *TEMPORAL_NAMES, weight_temporal=0),
        inert_while(
            "neither the entity graph nor graph traversal has a weight",
            "mention_weight",
            weight_entity=0,
            weight_traversal=0,
        ),
    )
