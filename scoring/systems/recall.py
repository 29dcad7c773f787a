"""recall (seed 000): confidence when a memory is written; fusion, freshness and access when it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring import confidence as evidence
from scoring.diversity import mmr
from scoring.freshness import access_boost, effective_freshness
from scoring.fusion import rrf
from scoring.params import Params, choice, not_all_zero, number, switch
from scoring.policy import WritePolicy
from scoring.signals import RETRIEVERS, TYPES, Codes, Signals
from scoring.systems.system import Order, System, by_score, valid
from scoring.term import Mask, Term, given, param_of_each, product, scale

_TABLE = "000 All Thresholds in One Place"
_half_life = partial(number, group="Freshness", low=1, high=730, step=1, unit="d", seed="000 Per-type half-lives")
_cut = partial(number, group="Cut", seed=_TABLE)
_weight = partial(number, group="Fusion", low=0, high=3, step=0.05, seed="000 Default retriever weights")
_bm25 = partial(number, group="Words", scope="candidates", seed="000 BM25 Scoring")
_plan = partial(number, group="Plan", scope="candidates")
_specific = partial(number, low=0, high=1, step=0.01, scope="candidates", group="Plan", seed="000 Query Specificity")
_graph = partial(number, group="Paths", low=0, high=1, step=0.01, scope="candidates", seed="000 Hop score decay")
_time = partial(number, group="Time", scope="candidates")


@dataclass(frozen=True)
class HalfLives(Params):
    """How fast each type of memory fades."""

    half_life_entity: float = _half_life(365.0, "Entity", high=1460)
    half_life_fact: float = _half_life(180.0, "Fact")
    half_life_relation: float = _half_life(180.0, "Relation")
    half_life_preference: float = _half_life(90.0, "Preference")
    half_life_event: float = _half_life(30.0, "Event")
    freshness_floor: float = number(
        0.1, "what the oldest memory keeps", group="Freshness", low=0.0, high=0.3, step=0.01, seed=_TABLE
    )


@dataclass(frozen=True)
class ConfidenceFloor(Params):
    """Which memories are too unsure to come back."""

    confidence_gate: bool = switch(
        True, "whether unsure memories are held back", group="Cut", seed="ours: the paper's gate is always on"
    )
    min_confidence: float = _cut(0.5, "the least confidence that comes back", low=0.3, high=0.8, step=0.01)


@dataclass(frozen=True)
class RecallParams(ConfidenceFloor, HalfLives):
    """What recall lets a caller turn."""

    rrf_k: float = number(60.0, "how flat ranks count", group="Fusion", low=10, high=200, step=1, seed=_TABLE)
    weight_semantic: float = _weight(1.0, "pull of meaning")
    weight_bm25: float = _weight(1.0, "pull of words")
    weight_entity: float = _weight(1.0, "pull of entities")
    weight_temporal: float = _weight(1.0, "pull of time")
    weight_traversal: float = _weight(0.8, "pull of paths")

    cut: int = number(
        50,
        "how many can come back at all",
        group="Cut",
        low=1,
        high=200,
        step=1,
        seed="000 Step 10: Context inclusion decision",
    )

    mmr: str = choice(
        "plan",
        "whether repetition is avoided",
        options=("plan", "on", "off"),
        group="Diversity",
        seed="000 Diversity: Maximal Marginal Relevance",
    )
    mmr_lambda: float = number(
        0.7, "relevance against novelty", group="Diversity", low=0.5, high=0.9, step=0.01, seed=_TABLE
    )
    mmr_relevance: str = choice(
        "scaled",
        "what counts as relevance",
        options=("scaled", "raw"),
        group="Diversity",
        seed="ours: a raw weight near .03 drowns in cosines; “raw” is the paper's",
    )

    bm25_k1: float = _bm25(1.2, "how soon repeated words stop counting", low=0, high=3, step=0.05)
    bm25_b: float = _bm25(0.75, "how much long memories are held back", low=0, high=1, step=0.01)
    lexical: str = choice(
        "bm25",
        "which formula ranks by words",
        options=("bm25", "ts_rank_cd"),
        group="Words",
        scope="candidates",
        seed="000 BM25 Scoring",
    )
    pool: int = number(
        100,
        "candidates asked of each retriever",
        group="Candidates",
        low=10,
        high=500,
        step=10,
        scope="candidates",
        seed="ours: the paper names no pool",
    )
    mention_weight: float = number(
        0.6,
        "a mention against a subject",
        group="Entities",
        low=0,
        high=1,
        step=0.05,
        scope="candidates",
        seed="ours: the paper scores subjects only",
    )
    temporal_sigma: float = _time(1.0, "how wide a window's edge is", low=0.1, high=5, step=0.1, seed="000 Notation")
    temporal_floor: float = _time(
        0.01, "below this, a moment is not found", low=0, high=0.5, step=0.01, seed="ours: the paper has no floor"
    )
    hop_1: float = _graph(1.0, "an immediate neighbour")
    hop_2: float = _graph(0.6, "two hops away")
    hop_3: float = _graph(0.35, "three hops away")
    max_hops: int = _graph(3, "how far paths go", low=1, high=3, step=1)

    specificity_entities: float = _specific(0.35, "entities in specificity")
    specificity_time: float = _specific(0.25, "time in specificity")
    specificity_rarity: float = _specific(0.25, "rare words in specificity")
    specificity_type: float = _specific(0.15, "type cues in specificity")
    precise_from: float = _plan(0.8, "from here a query is precise", low=0.7, high=0.9, step=0.01, seed=_TABLE)
    exploratory_below: float = _plan(0.4, "below this a query explores", low=0.3, high=0.5, step=0.01, seed=_TABLE)
    entity_above: float = _plan(0.85, "above this an entity leads the plan", low=0.7, high=0.9, step=0.01, seed=_TABLE)
    window_from: float = _plan(
        0.7, "from here a time leads the plan", low=0.1, high=1, step=0.1, seed="ours: the paper says “precise window”"
    )
    entity_plan_weight: float = _plan(
        2.0, "the entity weight of its plan", low=0, high=3, step=0.05, seed="000 Default retriever weights"
    )
    temporal_plan_weight: float = _plan(
        1.5, "the time weight of its plan", low=0, high=3, step=0.05, seed="000 Default retriever weights"
    )
    precise_top_k: int = _plan(5, "how many a precise query gets", low=1, high=50, step=1, seed="000 Query Specificity")

    rules = (
        not_all_zero(*(f"weight_{retriever}" for retriever in RETRIEVERS)),
        not_all_zero("specificity_entities", "specificity_time", "specificity_rarity", "specificity_type"),
    )


def half_life(signals: Signals, params: HalfLives) -> Term:
    """τ of each candidate's type."""
    names = [f"half_life_{type.lower()}" for type in TYPES]
    return param_of_each(names, [getattr(params, name) for name in names], signals.type)


def freshness(signals: Signals, params: HalfLives) -> Term:
    """effective_freshness = max(2^(−t/τ), floor)"""
    age = given("age in days", signals.age_days)
    return effective_freshness(age, half_life(signals, params), params["freshness_floor"]).named("freshness")


def fused(signals: Signals, params: RecallParams) -> Term:
    """RRF(m) = Σᵢ wᵢ / (k + rankᵢ(m))"""
    ranks = {retriever: given(f"{retriever} rank", signals.rank(retriever)) for retriever in RETRIEVERS}
    weights = {retriever: params[f"weight_{retriever}"] for retriever in RETRIEVERS}
    return rrf(ranks, weights, params["rrf_k"]).named("RRF")


def score(signals: Signals, params: RecallParams) -> Term:
    r"""weight(m) = base_retrieval_score × freshness(age(m)) × access_boost(m)

    $$ \text{weight}(m) = \text{RRF}(m) \times \text{freshness}(\text{age}(m)) \times \text{access_boost}(m) $$
    """
    boost = access_boost(given("access count", signals.access_count)).named("access boost")
    return product([fused(signals, params), freshness(signals, params), boost]).named("weight")


def gates(signals: Signals, params: ConfidenceFloor) -> dict[str, Mask]:
    """A memory below the confidence floor is held back, unless the gate is switched off."""
    if not params.confidence_gate:
        return valid(signals, params)
    return {**valid(signals, params), "low_confidence": signals.confidence >= params.min_confidence}


def order(score: Term, signals: Signals, params: RecallParams, kept: Codes, top_k: int, diversify: bool) -> Order:
    """Falling weight; for an exploratory query, maximal marginal relevance over the cut."""
    rows = by_score(score, signals, kept)[: params.cut]
    wanted = diversify if params.mmr == "plan" else params.mmr == "on"
    if not wanted or signals.vectors is None or len(rows) == 0:
        return Order(rows[:top_k])
    relevance = (scale(score).value if params.mmr_relevance == "scaled" else score.value)[rows]
    picks = mmr(relevance, signals.vectors[rows], balance=params.mmr_lambda, top_k=top_k)
    return Order.of_picks(rows, picks)


def confidence(
    policy: WritePolicy,
    *,
    sources: Sequence[str],
    observations: float,
    type: str | None,
    model: str = "",
    logprobs: Sequence[float] | None = None,
    penalty: float = 0.0,
) -> Term:
    """conf(m) = min(1.0, 0.45·s + 0.20·r + 0.25·e + 0.10·t) − grounding penalty, with the weights of the policy."""
    signals: Mapping[str, Term] = {
        "source": _strongest(policy, sources),
        "repetition": evidence.repetition(given("observations", np.asarray(float(observations)))).named("repetition"),
        "extractor": _extractor(policy, model, logprobs),
        "prior": policy[f"prior_{type.lower() if type in TYPES else 'unknown'}"],
    }
    weights = dict(zip(signals, policy.weights(*(f"weight_{name}" for name in signals)), strict=True))
    whole = evidence.confidence(signals, weights).named("confidence")
    if not penalty:
        return whole
    return evidence.grounded(whole, given("grounding penalty", np.asarray(penalty))).named("confidence")


def _strongest(policy: WritePolicy, sources: Sequence[str]) -> Term:
    levels = sources or (policy.source_default,)
    return policy[max((f"source_{level}" for level in levels), key=lambda name: float(getattr(policy, name)))]


def _extractor(policy: WritePolicy, model: str, logprobs: Sequence[float] | None) -> Term:
    if logprobs:
        return given("mean token probability", np.asarray(evidence.extractor_confidence(logprobs)))
    return policy[f"extractor_{evidence.extractor_class(model)}"]


SYSTEM = System(
    name="recall",
    seed="000",
    summary="Fuses five retrievers by rank, then lets memories fade with age and gain with use.",
    params=RecallParams,
    routes=RETRIEVERS,
    score=score,
    gates=gates,
    order=order,
    presets={"exact-match": {"rrf_k": 30.0}, "exploratory": {"rrf_k": 90.0}},
    outputs={"rrf": "RRF", "freshness": "freshness", "access_boost": "access boost"},
)
