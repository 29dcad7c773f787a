"""recall (source 000): confidence when a memory is written; RRF, freshness and access boost when it is read."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.confidence import capped_confidence, grounded_confidence, weighted_confidence
from scoring.evidence import Evidence, extractor_signal, prior_signal, repetition_signal, source_signal
from scoring.freshness import access_boost, effective_freshness
from scoring.fusion import rrf
from scoring.params import Inert, Params, Rule, choice, inert_while, not_all_zero, number, switch
from scoring.policy import WritePolicyParams
from scoring.signals import RETRIEVERS, TYPES, Signals
from scoring.specificity import Plan
from scoring.systems.candidates import PlanParams
from scoring.systems.system import Order, System, passing, select_by_mmr, top_by_score, validity_gates
from scoring.term import Codes, Mask, Term, feature, param_per_candidate, product, scale_in_batches

_TABLE = "000 All Thresholds in One Place"
RERANK = "rerank"  # ranked list of the reranker, if the plan runs it
FUSED_LISTS = (*RETRIEVERS, RERANK)
_half_life = partial(number, group="Freshness", low=1, high=730, step=1, unit="d", source="000 Per-type half-lives")
_gate = partial(number, group="Results", source=_TABLE)
_weight = partial(number, group="Fusion", low=0, high=3, step=0.05, source="000 Default retriever weights")


HALF_LIFE_NAMES = tuple(f"half_life_{type.lower()}" for type in TYPES)
FRESHNESS_NAMES = (*HALF_LIFE_NAMES, "freshness_floor")


@dataclass(frozen=True)
class FreshnessParams(Params):
    """Half-life of each memory type, and the freshness floor."""

    half_life_entity: float = _half_life(365.0, "half-life of an Entity", high=1460)
    half_life_fact: float = _half_life(180.0, "half-life of a Fact")
    half_life_relation: float = _half_life(180.0, "half-life of a Relation")
    half_life_preference: float = _half_life(90.0, "half-life of a Preference")
    half_life_event: float = _half_life(30.0, "half-life of an Event")
    freshness_floor: float = number(
        0.1,
        "freshness floor (the oldest memories keep this much)",
        group="Freshness",
        low=0.0,
        high=0.3,
        step=0.01,
        source=_TABLE,
    )


@dataclass(frozen=True)
class ConfidenceGateParams(Params):
    """Gate on confidence: memories below the minimum are filtered."""

    confidence_gate: bool = switch(
        True,
        "confidence gate (filter below the minimum)",
        group="Results",
        source="ours: the paper's gate is always on",
    )
    min_confidence: float = _gate(0.5, "minimum confidence", low=0.3, high=0.8, step=0.01)


GATE_OFF = inert_while("the confidence gate is off", "min_confidence", confidence_gate=False)


@dataclass(frozen=True)
class RecallParams(PlanParams, ConfidenceGateParams, FreshnessParams):
    """Parameters of recall."""

    rrf_k: float = number(
        60.0, "RRF k (lower favours top ranks)", group="Fusion", low=10, high=200, step=1, source=_TABLE
    )
    weight_semantic: float = _weight(1.0, "semantic weight")
    weight_bm25: float = _weight(1.0, "BM25 weight")
    weight_entity: float = _weight(1.0, "entity graph weight")
    weight_temporal: float = _weight(1.0, "temporal weight")
    weight_traversal: float = _weight(0.8, "graph traversal weight")
    weight_rerank: float = _weight(
        1.0, "reranker weight, if the plan runs it", source="ours: the paper turns a reranker on and names none"
    )

    cut: int = number(
        50,
        "max results",
        group="Results",
        low=1,
        high=200,
        step=1,
        source="000 Step 10: Context inclusion decision",
    )

    mmr: str = choice(
        "plan",
        "MMR (diversify the results)",
        options=("plan", "on", "off"),
        group="Diversity",
        source="000 Diversity: Maximal Marginal Relevance",
    )
    mmr_lambda: float = number(
        0.7, "MMR λ (relevance against novelty)", group="Diversity", low=0.5, high=0.9, step=0.01, source=_TABLE
    )
    mmr_relevance: str = choice(
        "scaled",
        "relevance in MMR",
        options=("scaled", "raw"),
        group="Diversity",
        source="ours: an RRF score near .03 is dwarfed by cosines; “raw” is the paper's",
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        *PlanParams.rules,
        not_all_zero(*(f"weight_{retriever}" for retriever in RETRIEVERS)),
    )
    inert: ClassVar[tuple[Inert, ...]] = (
        *PlanParams.inert,
        GATE_OFF,
        inert_while("MMR is off", "mmr_lambda", "mmr_relevance", mmr="off"),
        Inert(
            ("exploratory_below",),
            "an exploratory plan only turns MMR and the reranker on, and both are set",
            {"mmr": ("on", "off"), "reranker": ("on", "off")},
            settled=False,
        ),
    )


def type_half_life(signals: Signals, params: FreshnessParams) -> Term:
    """τ of each candidate's type."""
    values = [getattr(params, name) for name in HALF_LIFE_NAMES]
    return param_per_candidate(HALF_LIFE_NAMES, values, signals.type)


def recall_freshness(signals: Signals, params: FreshnessParams) -> Term:
    """effective_freshness = max(2^(−t/τ), floor)"""
    age = feature("age in days", signals.age_days)
    return effective_freshness(age, type_half_life(signals, params), params["freshness_floor"]).with_name("freshness")


def recall_rrf(signals: Signals, params: RecallParams) -> Term:
    """RRF(m) = Σᵢ wᵢ / (k + rankᵢ(m))"""
    ranks = {name: signals.rank_term(name) for name in FUSED_LISTS}
    weights = {name: params[f"weight_{name}"] for name in FUSED_LISTS}
    return rrf(ranks, weights, params["rrf_k"]).with_name("RRF")


def score(signals: Signals, params: RecallParams) -> Term:
    r"""weight(m) = base_retrieval_score × freshness(age(m)) × access_boost(m)

    $$ \text{weight}(m) = \text{RRF}(m) \times \text{effective_freshness}(m) \times \text{access_boost}(m) $$
    """
    boost = access_boost(feature("access count", signals.access_count)).with_name("access boost")
    return product([recall_rrf(signals, params), recall_freshness(signals, params), boost]).with_name("weight")


def gates(signals: Signals, params: ConfidenceGateParams) -> dict[str, Mask]:
    """Filter memories below the minimum confidence, unless the gate is off."""
    if not params.confidence_gate:
        return validity_gates(signals, params)
    return {**validity_gates(signals, params), "low_confidence": signals.confidence >= params.min_confidence}


def diversifies(params: RecallParams, diversify: bool) -> bool:
    """Whether MMR runs: as `mmr` says, or the plan."""
    return diversify if params.mmr == "plan" else params.mmr == "on"


def order(
    score: Term, signals: Signals, params: RecallParams, passed_rows: Codes, top_k: int, diversify: bool
) -> Order:
    """By descending weight; with MMR, diversified over the first `cut` candidates."""
    if not diversifies(params, diversify) or signals.vectors is None or len(passed_rows) == 0:
        return Order(top_by_score(score, signals, passed_rows, min(params.cut, top_k)))
    if params.mmr_relevance == "raw":
        relevance = score.find("RRF")
    else:
        relevance = scale_in_batches(score, signals.batches, among=passing(signals, gates(signals, params)))
    assert relevance is not None
    candidates = top_by_score(score, signals, passed_rows, params.cut)
    return select_by_mmr(signals, candidates, relevance.value, top_k, balance=params.mmr_lambda)


def settle(params: RecallParams, signals: Signals, plan: Plan) -> RecallParams:
    """MMR and the reranker as the plan turned them on or off."""
    choices = {"mmr": plan.diversify, "reranker": plan.rerank}
    return params.with_choices(
        **{name: "on" if chosen else "off" for name, chosen in choices.items() if getattr(params, name) == "plan"}
    )


def memory_confidence(evidence: Evidence, policy: WritePolicyParams) -> Term:
    """conf(m) = min(1.0, 0.45·s + 0.20·r + 0.25·e + 0.10·t) − grounding penalty, with the policy's weights."""
    signals = {
        "source": source_signal(evidence, policy),
        "repetition": repetition_signal(evidence),
        "extractor": extractor_signal(evidence, policy),
        "prior": prior_signal(evidence, policy),
    }
    weights = dict(zip(signals, policy.weights(*(f"weight_{name}" for name in signals)), strict=True))
    term = weighted_confidence(signals, weights)
    if evidence.grounding == "partial":
        term = grounded_confidence(term, policy["grounding_penalty"])
    if evidence.confirmed:
        term = capped_confidence(term, policy["confirmed_cap"])
    return term.with_name("confidence")


def rejection_reason(evidence: Evidence, policy: WritePolicyParams) -> str:
    """Why the memory must not be stored; empty if it may be."""
    if evidence.grounding == "unsupported":
        return "its source does not support it"
    if evidence.grounding == "partial":
        confidence = float(memory_confidence(evidence, policy).value)
        if confidence < policy.grounding_floor:
            return f"only partly grounded, so it keeps {confidence:.2f}, and the floor is {policy.grounding_floor:.2f}"
    return ""


SYSTEM = System(
    name="recall",
    source="000",
    summary="Reciprocal rank fusion of five retrievers, times freshness and access boost.",
    params=RecallParams,
    retrievers=RETRIEVERS,
    optional_features=("vectors",),
    score=score,
    gates=gates,
    order=order,
    diversifies=diversifies,
    diversified_by=("mmr",),
    settle=settle,
    presets={"exact-match": {"rrf_k": 30.0}, "exploratory": {"rrf_k": 90.0}},
    outputs={"rrf": "RRF", "freshness": "freshness", "access_boost": "access boost"},
    retriever_terms={name: name for name in FUSED_LISTS},
    weighted_by={name: (f"weight_{name}",) for name in RETRIEVERS},
)
