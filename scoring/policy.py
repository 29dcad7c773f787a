"""What a namespace decides when memories are written: weights, tables and thresholds of the write side."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from scoring.confidence import SOURCE_LEVELS
from scoring.params import Params, Rule, at_most, choice, not_all_zero, number

_TABLE = "000 All Thresholds in One Place"
_confidence = partial(
    number, seed="000 Confidence Scoring", group="Confidence weights", low=0, high=1, step=0.01, scope="write"
)
_source = partial(
    number, seed="000 Source strength values", group="Source strength", low=0, high=1, step=0.01, scope="write"
)
_extractor = partial(
    number, seed="000 Extractor confidence", group="Extractor confidence", low=0, high=1, step=0.01, scope="write"
)
_prior = partial(number, seed="000 Type prior", group="Type prior", low=0, high=1, step=0.01, scope="write")
_dedup = partial(number, seed=_TABLE, group="Deduplication", step=0.01, unit="cosine", scope="write")
_belief = partial(number, group="Belief", scope="write")
_guard = partial(number, seed="000 Layered escape rate", group="Guards", low=0, high=1, step=0.01, scope="write")
_calibration = partial(number, group="Calibration", scope="write")


@dataclass(frozen=True)
class WritePolicy(Params):
    """Every number that counts when a memory is stored, confirmed, merged, contradicted or calibrated."""

    weight_source: float = _confidence(0.45, "pull of how directly it was said")
    weight_repetition: float = _confidence(0.20, "pull of how often it was said")
    weight_extractor: float = _confidence(0.25, "pull of who extracted it")
    weight_prior: float = _confidence(0.10, "pull of what type it is")

    source_direct: float = _source(0.95, "a direct statement")
    source_confirmation: float = _source(0.80, "a user's confirmation")
    source_strong_inference: float = _source(0.70, "a strong inference")
    source_weak_inference: float = _source(0.50, "a weak inference")
    source_speculation: float = _source(0.30, "a guess without evidence")
    source_default: str = choice(
        "strong_inference",
        "a memory that does not say how it was learnt",
        options=SOURCE_LEVELS,
        group="Source strength",
        scope="write",
        seed="ours: the paper has no default",
    )

    extractor_sonnet_opus: float = _extractor(0.90, "Claude Sonnet and Opus")
    extractor_haiku: float = _extractor(0.80, "Claude Haiku")
    extractor_gpt4: float = _extractor(0.85, "models of the GPT-4 class")
    extractor_gpt35: float = _extractor(0.65, "GPT-3.5 and smaller")
    extractor_unknown: float = _extractor(0.65, "a model nobody knows")

    prior_entity: float = _prior(0.90, "Entity")
    prior_event: float = _prior(0.85, "Event")
    prior_fact: float = _prior(0.80, "Fact")
    prior_preference: float = _prior(0.75, "Preference")
    prior_relation: float = _prior(0.70, "Relation")
    prior_unknown: float = _prior(0.75, "a type nobody knows", seed="000 Unknown type")

    confirmed_level: float = number(
        0.80,
        "the least source strength of a confirmed memory",
        group="Confirmation",
        low=0,
        high=1,
        step=0.01,
        scope="write",
        seed="000 Confirmation update",
    )
    confirmed_cap: float = number(
        0.99,
        "the most confidence a confirmation can give",
        group="Confirmation",
        low=0.9,
        high=1,
        step=0.005,
        scope="write",
        seed=_TABLE,
    )
    high_confidence: float = number(
        0.75,
        "from where a memory counts as sure",
        group="Confirmation",
        low=0.5,
        high=0.95,
        step=0.01,
        scope="write",
        seed="000 First mention (n=0)",
    )

    dedup_duplicate: float = _dedup(0.92, "above this, two memories are merged", low=0.85, high=0.98)
    dedup_escalate: float = _dedup(0.85, "from this, a judge is asked", low=0.75, high=0.92)
    thresholds_for: str = choice(
        "all-MiniLM-L6-v2",
        "the embedder whose cosines the thresholds mean",
        options=("all-MiniLM-L6-v2", "wordllama-256", "other"),
        group="Deduplication",
        scope="write",
        seed="ours: a cosine means what its embedder makes of it",
    )
    consolidation: float = _dedup(0.75, "from this, memories of a subject are summarised", low=0.60, high=0.85)
    consolidation_members: int = number(
        3,
        "memories that a summary needs",
        group="Deduplication",
        low=2,
        high=20,
        step=1,
        scope="write",
        seed="ours: the paper names no number",
    )

    drift_distance: float = number(
        0.4,
        "how far an entity's memories must move",
        group="Concept drift",
        low=0.2,
        high=0.6,
        step=0.01,
        scope="write",
        seed=_TABLE,
    )
    drift_overlap: float = number(
        0.5,
        "how few relations it must keep",
        group="Concept drift",
        low=0.3,
        high=0.7,
        step=0.01,
        scope="write",
        seed=_TABLE,
    )
    drift_window: int = number(
        30,
        "how long “lately” is",
        group="Concept drift",
        low=7,
        high=180,
        step=1,
        unit="d",
        scope="write",
        seed="ours: the paper names no window",
    )
    drift_members: int = number(
        3,
        "memories needed lately, and before",
        group="Concept drift",
        low=1,
        high=20,
        step=1,
        scope="write",
        seed="ours: one memory is no drift",
    )

    grounding_penalty: float = number(
        0.20,
        "what a partial verdict costs",
        group="Grounding",
        low=0,
        high=0.5,
        step=0.01,
        scope="write",
        seed="000 Grounding confidence penalty",
    )
    grounding_floor: float = number(
        0.3,
        "below this, a memory is dropped",
        group="Grounding",
        low=0.1,
        high=0.5,
        step=0.01,
        scope="write",
        seed=_TABLE,
    )

    belief_start: float = _belief(
        5.0, "belief in a new memory", low=0, high=10, step=0.1, seed="002 Step-by-Step Implementation"
    )
    belief_boost: float = _belief(
        0.5, "gain from a corroborating source", low=0, high=3, step=0.05, seed="002 Step-by-Step Implementation"
    )
    belief_penalty: float = _belief(
        1.5, "loss from a contradicting source", low=0, high=5, step=0.05, seed="002 Step-by-Step Implementation"
    )
    belief_protected: float = _belief(
        8.0, "above this, a memory no longer fades", low=5, high=10, step=0.1, seed="002 Step-by-Step Implementation"
    )
    belief_archive: float = _belief(
        2.0, "below this, it may be archived", low=0, high=5, step=0.1, seed="002 Step-by-Step Implementation"
    )
    belief_needed: int = _belief(
        3, "corroborations before protection", low=1, high=10, step=1, seed="002 Step-by-Step Implementation"
    )
    corroboration_cosine: float = _belief(
        0.85, "how alike a corroborating memory is", low=0.5, high=1, step=0.01, seed="002 detect_corroboration"
    )
    corroboration_shared: int = _belief(
        1, "entities a corroborating memory shares", low=1, high=5, step=1, seed="002 detect_corroboration"
    )
    contradiction_shared: int = _belief(
        2, "entities a contradicting memory shares", low=1, high=5, step=1, seed="002 detect_contradictions"
    )
    contradiction_low: float = _belief(
        0.40, "least cosine of a contradiction candidate", low=0, high=1, step=0.01, seed="002 detect_contradictions"
    )
    contradiction_high: float = _belief(
        1.0,
        "most cosine of a contradiction candidate",
        low=0,
        high=1,
        step=0.01,
        seed="002 detect_contradictions; ours: the paper's .75 misses the closest ones",
    )
    contradiction_words: float = _belief(
        0.5,
        "share of their words that memories have in common where a rule finds them to contradict",
        low=0,
        high=1,
        step=0.01,
        seed="ours: a rule sees another number in two memories about other things too",
    )

    escape_grounding: float = _guard(0.20, "what escapes write-time grounding")
    escape_scan: float = _guard(0.50, "what escapes the consistency scan")
    escape_faithfulness: float = _guard(0.30, "what escapes read-time faithfulness")

    kappa_gate: float = _calibration(
        0.75, "the agreement a calibration needs", low=0, high=1, step=0.01, seed="000 The calibration dataset"
    )
    kappa_preference: float = _calibration(
        0.70, "below this, the Preference prior comes first", low=0, high=1, step=0.01, seed="000 Recalibration trigger"
    )
    direct_share: float = _calibration(
        0.90,
        "the share of direct statements that calls for other weights",
        low=0.5,
        high=1,
        step=0.01,
        seed="ours: the paper says “everything”",
    )
    formal_source: float = _calibration(
        0.35, "the source weight where everything is direct", low=0, high=1, step=0.01, seed="000 Recalibration trigger"
    )
    formal_extractor: float = _calibration(
        0.30,
        "the extractor weight where everything is direct",
        low=0,
        high=1,
        step=0.01,
        seed="000 Recalibration trigger",
    )
    prior_lowest: float = _calibration(0.70, "the lowest prior", low=0, high=1, step=0.01, seed="000 Type prior values")
    prior_span: float = _calibration(
        0.20, "from the lowest prior to the highest", low=0, high=1, step=0.01, seed="000 Type prior values"
    )
    prior_steepness: float = _calibration(
        20.0,
        "how sharply agreement becomes a prior",
        low=1,
        high=100,
        step=1,
        seed="ours: the paper only says logistic",
    )
    prior_midpoint: float = _calibration(
        0.835,
        "the agreement in the middle of the priors",
        low=0.5,
        high=1,
        step=0.005,
        seed="ours: the paper only says logistic",
    )
    annotated_by_two: int = _calibration(
        30,
        "memories that two must have annotated before agreement is told",
        low=10,
        high=500,
        step=1,
        seed="ours: the paper names 500 conversations",
    )
    annotated_each: int = _calibration(
        8,
        "annotated memories of a type, and judged pairs of a kind, before they count",
        low=3,
        high=100,
        step=1,
        seed="ours: the paper names no number",
    )
    fit_steps: int = _calibration(
        500, "steps of gradient descent", low=100, high=10_000, step=100, seed="ours: the paper names no number"
    )
    fit_rate: float = _calibration(
        2.0,
        "length of a step of gradient descent",
        low=0.01,
        high=10,
        step=0.01,
        seed="ours: the paper names no number",
    )
    reliability_bins: int = _calibration(
        10, "bins in which confidence is checked", low=2, high=50, step=1, seed="ours: the usual ten"
    )
    merge_cost: float = _calibration(
        2.0,
        "how many missed merges a false one is worth",
        low=1,
        high=10,
        step=0.5,
        seed="ours: the paper says that a false merge is more harmful",
    )
    index_recall: float = number(
        0.95,
        "below this recall@10 of the vector index, an alert is raised",
        group="Index",
        low=0.90,
        high=0.99,
        step=0.01,
        scope="write",
        seed=_TABLE,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        not_all_zero("weight_source", "weight_repetition", "weight_extractor", "weight_prior"),
        at_most("dedup_escalate", "dedup_duplicate"),
        at_most("contradiction_low", "contradiction_high"),
        at_most("belief_start", "belief_protected"),
    )


PRESETS: Mapping[str, Mapping[str, float]] = {
    "software": {"weight_repetition": 0.24},
    "legal": {"weight_repetition": 0.16},
    "formal": {"weight_source": WritePolicy().formal_source, "weight_extractor": WritePolicy().formal_extractor},
}
