"""recall (seed 000): confidence when a memory is written; fusion, freshness and access when it is read."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.confidence import capped, grounded
from scoring.confidence import confidence as weighed
from scoring.evidence import Evidence, extractor, prior, repeated, source
from scoring.freshness import access_boost, effective_freshness
from scoring.fusion import rrf
from scoring.params import Params, Rule, choice, not_all_zero, number, switch
from scoring.policy import WritePolicy
from scoring.signals import RETRIEVERS, TYPES, Signals
from scoring.systems.candidates import Planned
from scoring.systems.system import Order, System, by_score, selected, valid
from scoring.term import Codes, Mask, Term, given, param_of_each, product, scale

_TABLE = "000 All Thresholds in One Place"
RERANK = "rerank"  # the list of a plan that turns the reranker on
LISTS = (*RETRIEVERS, RERANK)
_half_life = partial(number, group="Freshness", low=1, high=730, step=1, unit="d", seed="000 Per-type half-lives")
_cut = partial(number, group="Cut", seed=_TABLE)
_weight = partial(number, group="Fusion", low=0, high=3, step=0.05, seed="000 Default retriever weights")


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
class RecallParams(Planned, ConfidenceFloor, HalfLives):
    """What recall lets a caller turn."""

    rrf_k: float = number(60.0, "how flat ranks count", group="Fusion", low=10, high=200, step=1, seed=_TABLE)
    weight_semantic: float = _weight(1.0, "pull of meaning")
    weight_bm25: float = _weight(1.0, "pull of words")
    weight_entity: float = _weight(1.0, "pull of entities")
    weight_temporal: float = _weight(1.0, "pull of time")
    weight_traversal: float = _weight(0.8, "pull of paths")
    weight_rerank: float = _weight(
        1.0, "pull of the reranker, where it is asked", seed="ours: the paper turns a reranker on and names none"
    )

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
        seed="ours: an RRF score near .03 drowns in cosines; “raw” is the paper's",
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        *Planned.rules,
        not_all_zero(*(f"weight_{retriever}" for retriever in RETRIEVERS)),
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
    ranks = {name: signals.placed(name) for name in LISTS}
    weights = {name: params[f"weight_{name}"] for name in LISTS}
    return rrf(ranks, weights, params["rrf_k"]).named("RRF")


def score(signals: Signals, params: RecallParams) -> Term:
    r"""weight(m) = base_retrieval_score × freshness(age(m)) × access_boost(m)

    $$ \text{weight}(m) = \text{RRF}(m) \times \text{effective_freshness}(m) \times \text{access_boost}(m) $$
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
    wanted = diversify if params.mmr == "plan" else params.mmr == "on"
    if not wanted or signals.vectors is None or len(kept) == 0:
        return Order(by_score(score, signals, kept, min(params.cut, top_k)))
    raw = score.find("RRF") if params.mmr_relevance == "raw" else scale(score, signals.batches)
    assert raw is not None
    first = by_score(score, signals, kept, params.cut)
    return selected(signals, first, raw.value, top_k, balance=params.mmr_lambda)


def confidence(evidence: Evidence, policy: WritePolicy) -> Term:
    """conf(m) = min(1.0, 0.45·s + 0.20·r + 0.25·e + 0.10·t) − grounding penalty, with the weights of the policy."""
    signals = {
        "source": source(evidence, policy),
        "repetition": repeated(evidence),
        "extractor": extractor(evidence, policy),
        "prior": prior(evidence, policy),
    }
    weights = dict(zip(signals, policy.weights(*(f"weight_{name}" for name in signals)), strict=True))
    whole = weighed(signals, weights)
    if evidence.grounding == "partial":
        whole = grounded(whole, policy["grounding_penalty"])
    if evidence.confirmed:
        whole = capped(whole, policy["confirmed_cap"])
    return whole.named("confidence")


def rejection(evidence: Evidence, policy: WritePolicy) -> str:
    """Why a memory is not worth storing, in words; nothing where it is."""
    if evidence.grounding == "unsupported":
        return "its source does not support it"
    if evidence.grounding == "partial" and (left := float(confidence(evidence, policy).value)) < policy.grounding_floor:
        return f"only partly grounded, so it keeps {left:.2f}, and the floor is {policy.grounding_floor:.2f}"
    return ""


SYSTEM = System(
    name="recall",
    seed="000",
    summary="Fuses five retrievers by rank, then lets memories fade with age and gain with use.",
    params=RecallParams,
    routes=RETRIEVERS,
    reads=("vectors",),
    score=score,
    gates=gates,
    order=order,
    presets={"exact-match": {"rrf_k": 30.0}, "exploratory": {"rrf_k": 90.0}},
    outputs={"rrf": "RRF", "freshness": "freshness", "access_boost": "access boost"},
    shares={name: name for name in LISTS},
)
