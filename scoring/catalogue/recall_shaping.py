"""Seed 000, what surrounds the weight: deduplication, diversity, specificity, faithfulness."""

from scoring import contradiction, dedup, diversity, faithfulness, specificity
from scoring.catalogue.entry import Claim, Figure, Formula, constants
from scoring.policy import WritePolicy
from scoring.systems.recall import RecallParams

_policy = WritePolicy()

SHAPING = (
    Formula(
        "Hash deduplication",
        "Deduplication Math",
        dedup.content_hash,
        note="normalize: NFKC, casefold, white space folded, outer punctuation off.",
    ),
    Formula(
        "Cosine deduplication",
        "Deduplication Math",
        dedup.band,
        (
            constants(WritePolicy, {"dedup_duplicate": "0.92"}, dedup_duplicate=("0.85", "0.98")),
            constants(WritePolicy, {"dedup_escalate": "0.85"}, dedup_escalate=("0.75", "0.92")),
        ),
        note="Before any merge, negation, numbers, dates, versions, roles and values are compared.",
    ),
    Formula("Contradictory signals", "Deduplication Math", contradiction.conflicts, note="Ours, and load-bearing."),
    Formula("Merge", "Deduplication Math", dedup.merged_repetitions),
    Formula(
        "Consolidation",
        "All Thresholds in One Place",
        dedup.consolidated,
        (constants(WritePolicy, {"consolidation": "0.75"}, consolidation=("0.60", "0.85")),),
        note="Within a subject; a group gets a summary and its members stay.",
    ),
    Formula("Summary", "All Thresholds in One Place", dedup.medoid, note="Or one that a model writes."),
    Formula(
        "Concept drift",
        "All Thresholds in One Place",
        dedup.drifted,
        (
            constants(
                WritePolicy,
                {"drift_distance": "0.4", "drift_overlap": "0.5"},
                drift_distance=("0.2", "0.6"),
                drift_overlap=("0.3", "0.7"),
            ),
            constants(WritePolicy, {"drift_window": "30"}),
        ),
    ),
    Formula("Unresolved subject", "Entity resolution failure", dedup.fallback_subject),
    Formula(
        "Maximal marginal relevance",
        "Diversity: Maximal Marginal Relevance",
        diversity.marginal_relevance,
        (constants(RecallParams, {"mmr_lambda": "0.7"}, mmr_lambda=("0.5", "0.9")),),
        (
            Figure("70", "% that relevance weighs", lambda: 100 * RecallParams().mmr_lambda),
            Figure("30", "% that novelty weighs", lambda: 100 * (1 - RecallParams().mmr_lambda)),
        ),
        note="Relevance is the weight scaled over the batch (ours); the paper's raw RRF score can be chosen.",
        where="λ relevance against novelty, S what is selected already",
    ),
    Formula(
        "Query specificity",
        "Query Specificity",
        specificity.specificity,
        (
            constants(
                RecallParams,
                {
                    "specificity_entities": "0.35",
                    "specificity_time": "0.25",
                    "specificity_rarity": "0.25",
                    "specificity_type": "0.15",
                },
            ),
        ),
        (
            Figure("1.0", "an exact date", lambda: specificity.TEMPORAL_PRECISION["exact"]),
            Figure("0.7", "a relative time", lambda: specificity.TEMPORAL_PRECISION["relative"]),
            Figure("0.3", "a vague time", lambda: specificity.TEMPORAL_PRECISION["vague"]),
            Figure("0.0", "no time", lambda: specificity.TEMPORAL_PRECISION["none"]),
            Figure("1.0", "an explicit type keyword", lambda: specificity.TYPE_CUE_STRENGTH["explicit"]),
            Figure("0.5", "an implied type", lambda: specificity.TYPE_CUE_STRENGTH["implied"]),
            Figure("0.0", "no type cue", lambda: specificity.TYPE_CUE_STRENGTH["none"]),
        ),
        note="Each part is held within 0 and 1.",
    ),
    Formula("Entity density", "Query Specificity", specificity.entity_density),
    Formula("Lexical rarity", "Query Specificity", specificity.lexical_rarity),
    Formula(
        "Plan",
        "Query Specificity",
        specificity.plan_for,
        (
            constants(
                RecallParams,
                {"precise_from": "0.8", "exploratory_below": "0.4", "entity_above": "0.85"},
                precise_from=("0.7", "0.9"),
                exploratory_below=("0.3", "0.5"),
                entity_above=("0.7", "0.9"),
            ),
            constants(
                RecallParams,
                {
                    "entity_plan_weight": "2.0",
                    "temporal_plan_weight": "1.5",
                    "precise_top_k": "5",
                    "window_from": "0.7",
                },
            ),
        ),
        claims=(
            Claim(
                "specificity ≥ 0.8 calls for the precise plan",
                (("the entity density that needs with all else at 1", lambda: (0.8 - 0.25 - 0.25 - 0.15) / 0.35),),
                "Nearly unreachable: more than four words in ten must name a known entity.",
            ),
        ),
    ),
    Formula("Faithfulness", "Faithfulness score", faithfulness.faithfulness),
    Formula(
        "Risk",
        "Faithfulness score",
        faithfulness.risk,
        note="Read in this order: none, high, medium, low. The paper does not say what is critical; ours: a claim "
        "with a number, a date, a negation or a name. What is supported in part counts as unsupported.",
    ),
    Formula(
        "Escape rate",
        "Layered escape rate",
        faithfulness.escape_rate,
        (constants(WritePolicy, {"escape_grounding": "0.20", "escape_scan": "0.50", "escape_faithfulness": "0.30"}),),
        (
            Figure(
                "0.03",
                "all three guards",
                lambda: faithfulness.escape_rate(
                    [_policy.escape_grounding, _policy.escape_scan, _policy.escape_faithfulness]
                ),
            ),
            Figure("0.20", "a single guard", lambda: faithfulness.escape_rate([_policy.escape_grounding])),
        ),
    ),
)
