"""blend (ours, best on our benchmarks): convex fusion of scaled scores, MaxSim reranking, factors of evidence."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.batches import Batches
from scoring.belief import MAX_BELIEF, MIN_BELIEF
from scoring.confidence import utility
from scoring.freshness import usage
from scoring.fusion import logistic_probability
from scoring.params import inert_while, inert_while_alone, not_all_zero, number, switch
from scoring.signals import RETRIEVERS, Signals
from scoring.systems import recall
from scoring.systems.candidates import (
    INERT_IN_RETRIEVERS,
    MAXSIM_NAMES,
    TEMPORAL_NAMES,
    RetrieverParams,
    pool_size,
)
from scoring.systems.system import System, passing
from scoring.term import Array, Mask, Term, const, feature, product, scale_in_batches, total

BLEND_RETRIEVERS = (*RETRIEVERS, "context")
FACTORS = ("trust", "age", "evidence", "utility", "use")  # what is known of a memory, whatever the query
WEIGHTS = tuple(f"weight_{retriever}" for retriever in BLEND_RETRIEVERS)
# The gap is between entities, and another person is another entity.
ENTITY_WEIGHTS = ("weight_entity", "entity_boost", "abstain_gap", "abstain_another", "abstain_shortfall")
_weight = partial(number, group="Fusion", low=0, high=1, step=0.01, source="ours")
_abstain = partial(number, group="Abstention", low=-20, high=20, step=0.1, source="ours: fitted on LoCoMo's dev split")
_boost = partial(number, group="Fusion", low=0, high=3, step=0.05, source="ours")
_factor = partial(number, group="Bounded factors", low=0, high=1, step=0.01, source="ours")


@dataclass(frozen=True)
class BlendParams(RetrieverParams, recall.ConfidenceGateParams, recall.FreshnessParams):
    """Parameters of blend."""

    pool: int = pool_size(60, source="ours: same recall as 100, in less time")
    weight_semantic: float = _weight(0.6, "semantic weight")
    weight_bm25: float = _weight(0.4, "BM25 weight")
    weight_entity: float = _weight(0.0, "entity graph weight")
    weight_temporal: float = _weight(0.0, "temporal weight")
    weight_traversal: float = _weight(0.0, "graph traversal weight")
    weight_context: float = _weight(0.0, "context weight (memory embedded with the preceding turn)")
    entity_boost: float = _boost(1.0, "entity boost (memories of an entity in the query)")
    temporal_boost: float = _boost(1.0, "temporal boost (memories in the query's time window)")
    rerank: float = number(
        0.75,
        "MaxSim share, against the fused score",
        group="Reranking",
        low=0,
        high=1,
        step=0.05,
        source="ours",
    )
    rerank_top: int = number(200, "candidates reranked", group="Reranking", low=1, high=500, step=1, source="ours")
    trust: float = _factor(0.1, "trust amplitude (effect of confidence)")
    age: float = _factor(0.2, "age amplitude (effect of freshness)")
    belief: float = _factor(0.2, "belief amplitude (effect of corroborations and contradictions)")
    utility: float = _factor(0.25, "utility amplitude (effect of feedback)")
    use: float = _factor(0.02, "use amplitude (effect of accesses)")
    usage_ceiling: float = _factor(
        5.0, "usage ceiling (ln of accesses that counts as 1)", low=1, high=10, step=0.5, source="001 Usage factor"
    )
    confidence_gate: bool = switch(False, "confidence gate (filter below the minimum)", group="Results", source="ours")

    abstain_below: float = _abstain(
        0.68,
        "minimum answer probability (abstain below it)",
        low=0,
        high=1,
        step=0.01,
        source="ours: 5 % false abstentions in the demo world",
    )
    abstain_intercept: float = _abstain(3.0, "intercept of the answer probability")
    abstain_gap: float = _abstain(-10.1, "coefficient of the entity and answer type gap")
    abstain_uncovered: float = _abstain(-1.5, "coefficient of uncovered query terms")
    abstain_another: float = _abstain(
        -2.0, "coefficient of the share of memories about another person", source="ours: helps LoCoMo and the demo"
    )
    abstain_nearest: int = _abstain(8, "memories of the best coverage that this share is of", low=1, high=50, step=1)
    abstain_shortfall: float = _abstain(
        -8.0, "coefficient of the missing coverage", source="ours: catches most in namespaces of one to ten memories"
    )
    abstain_coverage: float = _abstain(
        0.4,
        "coverage below which some is missing",
        low=0,
        high=1,
        step=0.01,
        source="ours: what answers in the demo and LoCoMo seldom covers less",
    )

    rules = (not_all_zero(*WEIGHTS),)
    inert = (
        *INERT_IN_RETRIEVERS,
        *inert_while_alone(*WEIGHTS),
        recall.GATE_OFF,
        inert_while("the age amplitude is 0", *recall.FRESHNESS_NAMES, age=0),
        inert_while("the use amplitude is 0", "usage_ceiling", use=0),
        inert_while("MaxSim has no share", "rerank_top", *MAXSIM_NAMES, rerank=0),
        inert_while("memories about another person have no coefficient", "abstain_nearest", abstain_another=0),
        inert_while("missing coverage has no coefficient", "abstain_coverage", abstain_shortfall=0),
        inert_while("uncovered query terms have no coefficient", "maxsim_covered", abstain_uncovered=0),
        inert_while("the temporal retriever has no weight", *TEMPORAL_NAMES, weight_temporal=0, temporal_boost=0),
        inert_while(
            "neither the entity graph nor graph traversal has a weight",
            "mention_weight",
            **dict.fromkeys(ENTITY_WEIGHTS, 0),
            weight_traversal=0,
        ),
    )


def blend_fusion(signals: Signals, params: BlendParams, passed: Mask) -> Term:
    r"""A convex combination of the retrievers' min–max scaled scores, plus entity and temporal boosts.

    $$ \text{fused} = \sum_i w_i \cdot \text{scaled}(\text{score}_i)
       + b_e \cdot \text{entity match} + b_t \cdot \text{proximity} $$
    """
    convex = []
    weights = params.weights(*(f"weight_{retriever}" for retriever in BLEND_RETRIEVERS))
    for retriever, weight in zip(BLEND_RETRIEVERS, weights, strict=True):
        raw = feature(f"{retriever} score", signals.raw_scores(retriever))
        if raw.present is None or raw.present.any():  # a retriever without results contributes nothing
            scaled = scale_scores(raw, signals.batches, passed).with_name(f"{retriever} in batch")
            convex.append((weight * scaled).with_name(retriever))
    boost = (params["entity_boost"] * feature("entity match", signals.entity_match)).only(signals.entity_match > 0)
    # Not scaled: if every memory is in the window, min–max scaling would give 0 for all.
    temporal = (params["temporal_boost"] * feature("proximity", signals.raw_scores("temporal"))).with_name(
        "temporal boost"
    )
    return total([*convex, boost.with_name("entity boost"), temporal]).with_name("fused")


def scale_scores(raw: Term, batches: Batches, passed: Mask) -> Term:
    """Min–max scaled over what passes; equal scores count 1, such as that of a sole match, since 0 is for not found."""
    scaled = scale_in_batches(raw, batches, among=passed)
    low, high = (np.broadcast_to(bound.value, len(passed)) for bound in scaled.parts[1:])
    equal = low == high
    if not equal.any():
        return scaled
    # Exactly one of the two is present in each row, and the product skips the absent one.
    share = product([scaled.only(~equal), const(1.0).with_name("equal scores").only(equal)])
    return share if raw.present is None else share.only(raw.present)


def bounded_factor(x: Term, amplitude: Term) -> Term:
    """A factor within half the amplitude of 1, for x in [0, 1]; exactly 1 at the neutral 1/2."""
    return const(1.0) + amplitude * (x - const(0.5))


def evidence_factors(signals: Signals, params: BlendParams) -> list[Term]:
    r"""Bounded factors of what is known of a memory; without evidence, feedback and accesses the last three are 1.

    $$ \left(1 + c_t(\text{confidence} - \frac{1}{2})\right) \left(1 + c_a(\text{freshness} - \frac{1}{2})\right)
       \left(1 + c_b(\frac{\text{belief}}{10} - \frac{1}{2})\right)
       \left(1 + c_u(\text{utility} - \frac{1}{2})\right) \left(1 + c_n\,\text{usage}\right) $$
    """
    belief = feature("belief", np.clip(signals.belief, MIN_BELIEF, MAX_BELIEF)) / const(MAX_BELIEF)
    useful = utility(feature("useful", signals.useful), feature("not useful", signals.not_useful))
    accesses = usage(feature("access count", signals.access_count), params["usage_ceiling"])
    factors = (
        bounded_factor(feature("confidence", signals.confidence), params["trust"]),
        bounded_factor(recall.recall_freshness(signals, params), params["age"]),
        bounded_factor(belief.with_name("belief share"), params["belief"]),
        bounded_factor(useful.with_name("useful share"), params["utility"]),
        const(1.0) + params["use"] * accesses.with_name("usage"),
    )
    return [factor.with_name(name) for name, factor in zip(FACTORS, factors, strict=True)]


def expected_maxsim(matched: Term, base: Term, batches: Batches, passed: Mask) -> Term:
    """Imputed MaxSim of memories without token vectors: their scaled fused score, mapped to the batch's MaxSim range.

    Never above the best computed MaxSim of those that pass.
    """
    known = passed if matched.present is None else passed & matched.present
    reductions = {"least": batches.minimum, "best": batches.maximum}
    low, high = (
        feature(f"{name} MaxSim", batches.broadcast(reduce(matched.value, known)))
        for name, reduce in reductions.items()
    )
    return (low + (high - low) * scale_in_batches(base, batches, among=passed)).with_name("expected MaxSim")


def score(signals: Signals, params: BlendParams) -> Term:
    r"""Fuse, rerank the top by idf-weighted MaxSim, and multiply by the bounded factors.

    $$ \text{blend} = \left((1 - \alpha)\,\text{fused} + \alpha\,\text{MaxSim}\right) \times
       \text{trust} \times \text{age} \times \text{evidence} \times \text{utility} \times \text{use} $$
    """
    passed, batches = passing(signals, recall.gates(signals, params)), signals.batches
    base = blend_fusion(signals, params, passed)
    # What is filtered takes no place among the reranked.
    top = ~passed | batches.top_mask(base.value, signals.id_ranks, params.rerank_top, among=passed)
    matched = feature("MaxSim", signals.maxsim)
    known = np.ones(len(signals), bool) if matched.present is None else matched.present
    fused_share = ((const(1.0) - params["rerank"]) * base).with_name("fused share")
    maxsim_share = (params["rerank"] * matched).only(top & known).with_name("MaxSim share")
    parts = [fused_share, maxsim_share]
    if not known.all():
        imputed = params["rerank"] * expected_maxsim(matched, base, batches, passed)
        # Where none that passes has token vectors, the fused score is used.
        comparable = batches.broadcast(batches.any(passed & known))
        parts.append(imputed.only(top & ~known & comparable).with_name("expected MaxSim share"))
        parts.append((params["rerank"] * base).only(top & ~known & ~comparable).with_name("fused instead of MaxSim"))
    return product([total(parts).with_name("relevance"), *evidence_factors(signals, params)]).with_name("blend")


def answer_probability(signals: Signals, params: BlendParams, passed: Mask) -> Array:
    r"""Probability that the best hit answers the query, from entity match, answer type match and term coverage.

    Only candidates that pass the gates count; if all memories of the entity are filtered, nothing is known of it. If
    what covers the query best is about another person than the query names, it asks the wrong person. Among few
    memories none may cover the query at all, so that the gap between them says nothing: the missing coverage does.

    $$ P = \sigma\left(\beta_0 + \beta_g (\max_{d} \text{coverage}_d - m)
       + \beta_u \min_{d \in F} \text{uncovered}_d
       + \beta_o\, \frac{1}{|N|} \sum_{d \in N} [\text{about another}_d]
       + \beta_s \max(0, c - m)\right), \quad
       m = \max_{d \in F} \text{entity match}_d \cdot \text{coverage}_d $$
    """
    batches = signals.batches
    matching = passed & signals.answer_type_match & (signals.answer_entity_match > 0)
    coverage = signals.term_coverage
    covered = batches.maximum(signals.answer_entity_match * coverage, matching)
    gap = batches.maximum(coverage, passed) - covered
    shortfall = np.maximum(0.0, params.abstain_coverage - covered)
    uncovered = np.where(batches.any(matching), batches.minimum(signals.uncovered_terms, matching), 1.0)
    nearest = batches.top(coverage, signals.id_ranks, np.flatnonzero(passed), params.abstain_nearest)
    another = batches.counts(nearest[signals.about_another[nearest]]) / np.maximum(batches.counts(nearest), 1)
    features = np.array([gap, uncovered, another, shortfall]).T
    coefficients = np.array(
        [params.abstain_gap, params.abstain_uncovered, params.abstain_another, params.abstain_shortfall]
    )
    return logistic_probability(features, coefficients, params.abstain_intercept)


SYSTEM = System(
    name="blend",
    source="ours",
    summary="Our own: convex fusion of scores, MaxSim reranking, factors of trust, age, belief, utility and use.",
    params=BlendParams,
    retrievers=BLEND_RETRIEVERS,
    score=score,
    gates=recall.gates,
    answer_probability=answer_probability,
    outputs={name: name for name in ("fused", "relevance", *FACTORS)},
    retriever_terms={retriever: retriever for retriever in BLEND_RETRIEVERS},
    weighted_by={
        **{retriever: (f"weight_{retriever}",) for retriever in BLEND_RETRIEVERS},
        "entity": ENTITY_WEIGHTS,
        "temporal": ("weight_temporal", "temporal_boost"),
    },
)
