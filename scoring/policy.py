"""The write policy of a namespace: weights, tables and thresholds of the write path."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.confidence import SOURCE_LEVELS
from scoring.params import Params, Rule, at_most, choice, not_all_zero, number

_TABLE = "000 All Thresholds in One Place"
_confidence = partial(
    number, source="000 Confidence Scoring", group="Confidence weights", low=0, high=1, step=0.01, scope="write"
)
_source = partial(
    number, source="000 Source strength values", group="Source strength", low=0, high=1, step=0.01, scope="write"
)
_extractor = partial(
    number, source="000 Extractor confidence", group="Extractor confidence", low=0, high=1, step=0.01, scope="write"
)
_prior = partial(number, source="000 Type prior", group="Type prior", low=0, high=1, step=0.01, scope="write")
_dedup = partial(number, source=_TABLE, group="Deduplication", step=0.01, unit="cosine", scope="write")
_belief = partial(number, group="Belief", scope="write")
_guard = partial(number, source="000 Layered escape rate", group="Guards", low=0, high=1, step=0.01, scope="write")
_calibration = partial(number, group="Calibration", scope="write")


@dataclass(frozen=True)
class WritePolicyParams(Params):
    """Parameters that apply when a memory is stored, confirmed, merged, contradicted or calibrated."""

    weight_source: float = _confidence(0.45, "weight of source strength")
    weight_repetition: float = _confidence(0.20, "weight of repetition")
    weight_extractor: float = _confidence(0.25, "weight of extractor confidence")
    weight_prior: float = _confidence(0.10, "weight of the type prior")

    source_direct: float = _source(0.95, "a direct statement")
    source_confirmation: float = _source(0.80, "a user's confirmation")
    source_strong_inference: float = _source(0.70, "a strong inference")
    source_weak_inference: float = _source(0.50, "a weak inference")
    source_speculation: float = _source(0.30, "speculation")
    source_default: str = choice(
        "strong_inference",
        "source level of a memory that states none",
        options=SOURCE_LEVELS,
        group="Source strength",
        scope="write",
        source="ours: the paper has no default",
    )

    extractor_sonnet_opus: float = _extractor(0.90, "Claude Sonnet and Opus")
    extractor_haiku: float = _extractor(0.80, "Claude Haiku")
    extractor_gpt4: float = _extractor(0.85, "GPT-4 class models")
    extractor_gpt35: float = _extractor(0.65, "GPT-3.5 and smaller")
    extractor_unknown: float = _extractor(0.65, "unknown models")

    prior_entity: float = _prior(0.90, "Entity")
    prior_event: float = _prior(0.85, "Event")
    prior_fact: float = _prior(0.80, "Fact")
    prior_preference: float = _prior(0.75, "Preference")
    prior_relation: float = _prior(0.70, "Relation")
    prior_unknown: float = _prior(0.75, "unknown type", source="000 Unknown type")

    confirmed_level: float = number(
        0.80,
        "minimum source strength of a confirmed memory",
        group="Confirmation",
        low=0,
        high=1,
        step=0.01,
        scope="write",
        source="000 Confirmation update",
    )
    confirmed_cap: float = number(
        0.99,
        "confidence cap of a confirmed memory",
        group="Confirmation",
        low=0.9,
        high=1,
        step=0.005,
        scope="write",
        source=_TABLE,
    )
    high_confidence: float = number(
        0.75,
        "high confidence threshold",
        group="Confirmation",
        low=0.5,
        high=0.95,
        step=0.01,
        scope="write",
        source="000 First mention (n=0)",
    )

    dedup_duplicate: float = _dedup(0.92, "duplicate threshold (restatements are merged above it)", low=0.85, high=0.98)
    dedup_escalate: float = _dedup(0.85, "escalation threshold (a judge decides from here)", low=0.75, high=0.92)
    thresholds_for: str = choice(
        "all-MiniLM-L6-v2",
        "embedder the thresholds were set for",
        options=("all-MiniLM-L6-v2", "wordllama-256", "other"),
        group="Deduplication",
        scope="write",
        source="ours: cosines of different embedders are not comparable",
    )
    consolidation: float = _dedup(0.75, "consolidation threshold (memories of a subject)", low=0.60, high=0.85)
    consolidation_members: int = number(
        3,
        "minimum memories per summary",
        group="Deduplication",
        low=2,
        high=20,
        step=1,
        scope="write",
        source="ours: the paper names no number",
    )

    drift_distance: float = number(
        0.4,
        "centroid distance that counts as drift",
        group="Concept drift",
        low=0.2,
        high=0.6,
        step=0.01,
        scope="write",
        source=_TABLE,
    )
    drift_overlap: float = number(
        0.5,
        "relation overlap below which it is drift",
        group="Concept drift",
        low=0.3,
        high=0.7,
        step=0.01,
        scope="write",
        source=_TABLE,
    )
    drift_window: int = number(
        30,
        "length of the recent window",
        group="Concept drift",
        low=7,
        high=180,
        step=1,
        unit="d",
        scope="write",
        source="ours: the paper names no window",
    )
    drift_members: int = number(
        3,
        "minimum memories in each window",
        group="Concept drift",
        low=1,
        high=20,
        step=1,
        scope="write",
        source="ours: a single memory is not drift",
    )

    grounding_penalty: float = number(
        0.20,
        "grounding penalty (partial support)",
        group="Grounding",
        low=0,
        high=0.5,
        step=0.01,
        scope="write",
        source="000 Grounding confidence penalty",
    )
    grounding_floor: float = number(
        0.3,
        "grounding floor (dropped below it)",
        group="Grounding",
        low=0.1,
        high=0.5,
        step=0.01,
        scope="write",
        source=_TABLE,
    )

    belief_start: float = _belief(
        5.0, "initial belief", low=0, high=10, step=0.1, source="002 Step-by-Step Implementation"
    )
    belief_boost: float = _belief(
        0.5, "boost per corroboration", low=0, high=3, step=0.05, source="002 Step-by-Step Implementation"
    )
    belief_penalty: float = _belief(
        1.5, "penalty per contradiction", low=0, high=5, step=0.05, source="002 Step-by-Step Implementation"
    )
    belief_protected: float = _belief(
        8.0, "protected belief (no decay above it)", low=5, high=10, step=0.1, source="002 Step-by-Step Implementation"
    )
    belief_archive: float = _belief(
        2.0, "archive threshold", low=0, high=5, step=0.1, source="002 Step-by-Step Implementation"
    )
    belief_needed: int = _belief(
        3, "corroborations needed for protection", low=1, high=10, step=1, source="002 Step-by-Step Implementation"
    )
    corroboration_cosine: float = _belief(
        0.85, "minimum cosine of a corroboration", low=0.5, high=1, step=0.01, source="002 detect_corroboration"
    )
    corroboration_shared: int = _belief(
        1, "minimum shared entities of a corroboration", low=1, high=5, step=1, source="002 detect_corroboration"
    )
    contradiction_shared: int = _belief(
        2,
        "minimum shared entities of a contradiction candidate",
        low=1,
        high=5,
        step=1,
        source="002 detect_contradictions",
    )
    contradiction_low: float = _belief(
        0.40,
        "minimum cosine of a contradiction candidate",
        low=0,
        high=1,
        step=0.01,
        source="002 detect_contradictions",
    )
    contradiction_high: float = _belief(
        1.0,
        "maximum cosine of a contradiction candidate",
        low=0,
        high=1,
        step=0.01,
        source="002 detect_contradictions; ours: the paper's .75 misses the closest ones",
    )
    contradiction_words: float = _belief(
        0.5,
        "minimum term overlap for a rule-based contradiction",
        low=0,
        high=1,
        step=0.01,
        source="ours: rules also see different numbers in memories about different things",
    )

    escape_grounding: float = _guard(0.20, "what escapes write-time grounding")
    escape_scan: float = _guard(0.50, "what escapes the consistency scan")
    escape_faithfulness: float = _guard(0.30, "what escapes read-time faithfulness")

    kappa_gate: float = _calibration(
        0.75, "minimum Cohen's κ of a calibration", low=0, high=1, step=0.01, source="000 The calibration dataset"
    )
    kappa_preference: float = _calibration(
        0.70,
        "κ below which the Preference prior is recalibrated first",
        low=0,
        high=1,
        step=0.01,
        source="000 Recalibration trigger",
    )
    direct_share: float = _calibration(
        0.90,
        "share of direct statements that triggers recalibration",
        low=0.5,
        high=1,
        step=0.01,
        source="ours: the paper says “everything”",
    )
    formal_source: float = _calibration(
        0.35, "source weight if all statements are direct", low=0, high=1, step=0.01, source="000 Recalibration trigger"
    )
    formal_extractor: float = _calibration(
        0.30,
        "extractor weight if all statements are direct",
        low=0,
        high=1,
        step=0.01,
        source="000 Recalibration trigger",
    )
    prior_lowest: float = _calibration(
        0.70, "lowest type prior", low=0, high=1, step=0.01, source="000 Type prior values"
    )
    prior_span: float = _calibration(
        0.20, "span of type priors", low=0, high=1, step=0.01, source="000 Type prior values"
    )
    prior_steepness: float = _calibration(
        20.0,
        "steepness of the prior's logistic",
        low=1,
        high=100,
        step=1,
        source="ours: the paper only says logistic",
    )
    prior_midpoint: float = _calibration(
        0.835,
        "midpoint of the prior's logistic (agreement)",
        low=0.5,
        high=1,
        step=0.005,
        source="ours: the paper only says logistic",
    )
    annotated_by_two: int = _calibration(
        30,
        "memories annotated by two raters before κ is reported",
        low=10,
        high=500,
        step=1,
        source="ours: the paper names 500 conversations",
    )
    annotated_each: int = _calibration(
        8,
        "minimum annotated memories per type and judged pairs per label",
        low=3,
        high=100,
        step=1,
        source="ours: the paper names no number",
    )
    fit_steps: int = _calibration(
        500, "gradient descent steps", low=100, high=10_000, step=100, source="ours: the paper names no number"
    )
    fit_rate: float = _calibration(
        2.0,
        "learning rate",
        low=0.01,
        high=10,
        step=0.01,
        source="ours: the paper names no number",
    )
    reliability_bins: int = _calibration(
        10, "bins of the reliability curve", low=2, high=50, step=1, source="ours: the usual ten"
    )
    merge_cost: float = _calibration(
        2.0,
        "cost of a false merge, in missed merges",
        low=1,
        high=10,
        step=0.5,
        source="ours: the paper says that a false merge is more harmful",
    )
    index_recall: float = number(
        0.95,
        "recall@10 of the vector index below which an alert is raised",
        group="Index",
        low=0.90,
        high=0.99,
        step=0.01,
        scope="write",
        source=_TABLE,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        not_all_zero("weight_source", "weight_repetition", "weight_extractor", "weight_prior"),
        at_most("dedup_escalate", "dedup_duplicate"),
        at_most("contradiction_low", "contradiction_high"),
        at_most("belief_start", "belief_protected"),
    )


# Cosines of different embedders are not comparable. The papers' thresholds belong to MiniLM, which is the default;
# wordllama's let through as many pairs of the STS-B training set that do not say the same.
EMBEDDER_THRESHOLDS: Mapping[str, Mapping[str, float]] = {
    "all-MiniLM-L6-v2": {},
    "wordllama-256": {
        "dedup_duplicate": 0.90,
        "dedup_escalate": 0.84,
        "corroboration_cosine": 0.84,
        "consolidation": 0.74,
        "contradiction_low": 0.37,
    },
}
COSINE_PARAMS = tuple(EMBEDDER_THRESHOLDS["wordllama-256"])


def embedder_defaults(embedder: str) -> dict[str, float | str]:
    """The thresholds shipped for an embedder, by parameter; empty if none were measured for it."""
    if embedder not in EMBEDDER_THRESHOLDS:
        return {}
    return {"thresholds_for": embedder, **EMBEDDER_THRESHOLDS[embedder]}


def policy_for(embedder: str) -> WritePolicyParams:
    """The shipped write policy of a namespace with this embedder.

    >>> policy_for("wordllama-256").dedup_duplicate, policy_for("all-MiniLM-L6-v2").dedup_duplicate
    (0.9, 0.92)
    """
    return WritePolicyParams.of(embedder_defaults(embedder))


def with_shipped_thresholds(policy: WritePolicyParams, embedder: str) -> WritePolicyParams:
    """A policy whose thresholds are as shipped for another embedder, with those shipped for this one.

    Thresholds that somebody tuned stay: `thresholds_for` tells that they are another embedder's.

    >>> with_shipped_thresholds(WritePolicyParams(belief_boost=1.0), "wordllama-256").dedup_duplicate
    0.9
    >>> with_shipped_thresholds(WritePolicyParams(dedup_duplicate=0.95), "wordllama-256").dedup_duplicate
    0.95
    """
    tuned_for = policy.thresholds_for
    if embedder == tuned_for or embedder not in EMBEDDER_THRESHOLDS or tuned_for not in EMBEDDER_THRESHOLDS:
        return policy
    if any(getattr(policy, name) != getattr(policy_for(tuned_for), name) for name in COSINE_PARAMS):
        return policy
    shipped = policy_for(embedder)
    return policy.with_values(thresholds_for=embedder, **{name: getattr(shipped, name) for name in COSINE_PARAMS})


PRESETS: Mapping[str, Mapping[str, float]] = {
    "software": {"weight_repetition": 0.24},
    "legal": {"weight_repetition": 0.16},
    "formal": {
        "weight_source": WritePolicyParams().formal_source,
        "weight_extractor": WritePolicyParams().formal_extractor,
    },
}
