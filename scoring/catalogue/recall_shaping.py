"""Source 000: deduplication, diversity, specificity, faithfulness."""

from scoring import contradiction, dedup, diversity, faithfulness, specificity
from scoring.catalogue.entry import Formula, PrintedValue, SourceClaim, constants
from scoring.policy import WritePolicyParams
from scoring.systems.recall import RecallParams

_policy = WritePolicyParams()

SHAPING = (
    Formula(
        "Hash deduplication",
        "Deduplication Math",
        dedup.content_hash,
        note="normalize: NFKC, case-folded, whitespace collapsed, outer punctuation stripped.",
    ),
    Formula(
        "Cosine deduplication",
        "Deduplication Math",
        dedup.similarity_band,
        (
            constants(WritePolicyParams, {"dedup_duplicate": "0.92"}, dedup_duplicate=("0.85", "0.98")),
            constants(WritePolicyParams, {"dedup_escalate": "0.85"}, dedup_escalate=("0.75", "0.92")),
        ),
        note="Before any merge, negation, numbers, dates, versions, roles and values are compared. Thresholds belong to"
        " an embedder: the text's are MiniLM's, wordllama's were measured.",
    ),
    Formula(
        "Merging without a judge",
        "Deduplication Math",
        dedup.merge_band,
        note="Ours: above .92, 53 % of the PAWS pairs that would be merged do not say the same, so words decide too.",
    ),
    Formula("Restatement", "Deduplication Math", contradiction.restates, note="Ours; what is left goes to a judge."),
    Formula(
        "Contradictory signals",
        "Deduplication Math",
        contradiction.conflicts,
        note="Ours; prevents false merges and false corroborations. Conservative: both memories stay and are served.",
    ),
    Formula(
        "Contradiction",
        "Deduplication Math",
        contradiction.contradicts,
        note="Ours; makes the earlier memory outdated, so it is precise: another number in the subject names another"
        " thing.",
    ),
    Formula("Merge", "Deduplication Math", dedup.merged_repetitions),
    Formula(
        "Consolidation",
        "All Thresholds in One Place",
        dedup.consolidation_groups,
        (constants(WritePolicyParams, {"consolidation": "0.75"}, consolidation=("0.60", "0.85")),),
        note="Within a subject; a group gets a summary, and its members are kept.",
    ),
    Formula("Summary", "All Thresholds in One Place", dedup.medoid, note="Or a summary written by a language model."),
    Formula(
        "Concept drift",
        "All Thresholds in One Place",
        dedup.has_drifted,
        (
            constants(
                WritePolicyParams,
                {"drift_distance": "0.4", "drift_overlap": "0.5"},
                drift_distance=("0.2", "0.6"),
                drift_overlap=("0.3", "0.7"),
            ),
            constants(WritePolicyParams, {"drift_window": "30"}),
        ),
    ),
    Formula("Unresolved subject", "Entity resolution failure", dedup.fallback_subject),
    Formula(
        "Maximal marginal relevance",
        "Diversity: Maximal Marginal Relevance",
        diversity.marginal_relevance,
        (constants(RecallParams, {"mmr_lambda": "0.7"}, mmr_lambda=("0.5", "0.9")),),
        (
            PrintedValue("70", "% weight of relevance", lambda: 100 * RecallParams().mmr_lambda),
            PrintedValue("30", "% weight of novelty", lambda: 100 * (1 - RecallParams().mmr_lambda)),
        ),
        note="Relevance is the weight, scaled over the candidates that pass (ours); the paper's raw RRF is an option.",
        symbols="λ relevance against novelty, S the selected memories",
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
            PrintedValue("1.0", "an exact date", lambda: specificity.TEMPORAL_PRECISION["exact"]),
            PrintedValue("0.7", "a relative time", lambda: specificity.TEMPORAL_PRECISION["relative"]),
            PrintedValue("0.3", "a vague time", lambda: specificity.TEMPORAL_PRECISION["vague"]),
            PrintedValue("0.0", "no time", lambda: specificity.TEMPORAL_PRECISION["none"]),
            PrintedValue("1.0", "an explicit type keyword", lambda: specificity.TYPE_CUE_STRENGTH["explicit"]),
            PrintedValue("0.5", "an implied type", lambda: specificity.TYPE_CUE_STRENGTH["implied"]),
            PrintedValue("0.0", "no type cue", lambda: specificity.TYPE_CUE_STRENGTH["none"]),
        ),
        note="Each part is clamped to [0, 1]. Ours, where the paper is silent: a day is exact, a named month or "
        "quarter counts as a relative time, a bare year or season is vague.",
    ),
    Formula("Entity density", "Query Specificity", specificity.entity_density),
    Formula(
        "Lexical rarity",
        "Query Specificity",
        specificity.lexical_rarity,
        note="Ours, where the paper is silent: a stop word is a term with idf 0, a term that no memory contains is "
        "left out, and the corpus maximum is the idf of a term in one memory.",
    ),
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
            SourceClaim(
                "specificity ≥ 0.8 calls for the precise plan",
                (("required entity density with all else at 1", lambda: (0.8 - 0.25 - 0.25 - 0.15) / 0.35),),
                "Nearly unreachable: more than four tenths of the tokens must be known entities.",
            ),
        ),
    ),
    Formula("Faithfulness", "Faithfulness score", faithfulness.faithfulness),
    Formula(
        "Risk",
        "Faithfulness score",
        faithfulness.risk,
        note="Checked in this order: none, high, medium, low. The paper does not define critical; ours: a claim with a "
        "number, a date, a negation or a name. Partial support counts as unsupported.",
    ),
    Formula(
        "Escape rate",
        "Layered escape rate",
        faithfulness.escape_rate,
        (
            constants(
                WritePolicyParams, {"escape_grounding": "0.20", "escape_scan": "0.50", "escape_faithfulness": "0.30"}
            ),
        ),
        (
            PrintedValue(
                "0.03",
                "all three guards",
                lambda: faithfulness.escape_rate(
                    [_policy.escape_grounding, _policy.escape_scan, _policy.escape_faithfulness]
                ),
            ),
            PrintedValue("0.20", "a single guard", lambda: faithfulness.escape_rate([_policy.escape_grounding])),
        ),
    ),
)
