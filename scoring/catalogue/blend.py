"""blend, our own: what fills the holes the papers leave, and what measured best."""

from scoring import calibration, fusion, metrics
from scoring.catalogue.entry import Formula, Source
from scoring.systems import blend

SOURCE = Source(
    seed="ours",
    title="Our own, and the metrics",
    system="blend",
    formulas=(
        Formula(
            "Fused score",
            "ours",
            blend.fused,
            where="wᵢ the weight of a retriever, bₑ and bₜ the boosts",
        ),
        Formula(
            "Blend",
            "ours",
            blend.score,
            where="α the share of reranking, cₜ and cₐ the swings of trust and age",
            note="MaxSim counts for the best by fused score; the others keep what is left of theirs. A memory whose "
            "words are not stored is taken to match as well as its fused score stands among the others, never better "
            "than the best of them.",
        ),
        Formula(
            "MaxSim",
            "ours",
            fusion.maxsim,
            note="Of a memory longer than word_window words it is that of its best passage; each begins in the middle "
            "of the one before. In a long text some word is like any word of the query, far from the others.",
        ),
        Formula(
            "Chance of an answer",
            "ours",
            blend.chance,
            where="d the candidates that pass the gates, F those of them that fit: of whom the query names, "
            "or of anybody, and holding the kind of thing it asks for",
            note="Of a person, a memory that only mentions them counts less than one about them. A name that nobody "
            "registered must be said, and who is only described (“the team that owns it”) may stand elsewhere.",
        ),
        Formula("Logistic", "ours", fusion.probability),
        Formula("nDCG", "metrics", metrics.ndcg),
        Formula("DCG", "metrics", metrics.dcg),
        Formula("Recall at k", "metrics", metrics.recall),
        Formula("Reciprocal rank", "metrics", metrics.reciprocal_rank),
        Formula("Average precision", "metrics", metrics.average_precision),
        Formula("Kendall's tau", "metrics", metrics.kendall_tau),
        Formula("Rank-biased overlap", "metrics", metrics.rank_biased_overlap),
        Formula("Expected calibration error", "metrics", calibration.expected_calibration_error),
    ),
)
