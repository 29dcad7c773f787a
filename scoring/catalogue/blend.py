"""blend, our own: what fills the holes the papers leave, and what measured best."""

from scoring import calibration, fusion, metrics
from scoring.catalogue.entry import Formula, Source
from scoring.systems import blend

SOURCE = Source(
    seed="ours",
    title="What is ours",
    system="blend",
    formulas=(
        Formula("Blend", "ours", blend.score),
        Formula("MaxSim", "ours", fusion.maxsim),
        Formula("Chance of relevance", "ours", fusion.probability),
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
