"""blend, our own system, and the evaluation metrics."""

from scoring import calibration, fusion, metrics
from scoring.catalogue.entry import CatalogueSource, Formula
from scoring.systems import blend

SOURCE = CatalogueSource(
    number="ours",
    title="Our own, and the metrics",
    system="blend",
    formulas=(
        Formula(
            "Fused score",
            "ours",
            blend.blend_fusion,
            symbols="wᵢ the weight of a retriever, bₑ and bₜ the boosts",
            note="Where all scores of a list are equal, as in a list of one, each counts 1: 0 is for a memory the "
            "retriever did not find. "
            "A retriever whose weights are all 0 is not asked. By default these are graph traversal and context: "
            "asked at weight 0, they leave nDCG@10 as it is on LoCoMo (.623), RealMem (.376), SciFact (.748), "
            "LongMemEval (.638) and BEAM (.392), and move the demo's by .001.",
        ),
        Formula(
            "Blend",
            "ours",
            blend.score,
            symbols="α the MaxSim share",
            note="MaxSim applies to the top candidates by fused score; the others keep only the fused share. For a "
            "memory without token vectors MaxSim is imputed from its fused score, at most the best of the batch.",
        ),
        Formula(
            "Bounded factors",
            "ours",
            blend.evidence_factors,
            symbols="c the amplitudes of trust, age, belief, utility and use",
            note="The amplitudes of belief, utility and use lose less than .005 nDCG@10 on every data set when belief "
            "is dealt out at random, when feedback on half of the queries meets the other half, and when every query "
            "counts its results as accessed.",
        ),
        Formula(
            "MaxSim",
            "ours",
            fusion.maxsim,
            note="For a memory longer than maxsim_window words, the best of its passages, which overlap by half: in a "
            "long text some token matches any query token.",
        ),
        Formula(
            "Answer probability",
            "ours",
            blend.answer_probability,
            symbols="d the candidates that pass the gates, F those among them that match the query's entities, if it "
            "names any, and its answer type, N those that cover the query best, c the coverage below which some is "
            "missing",
            note="A memory that only mentions a person counts less than one about them. An unregistered name must "
            "occur in the memory; an entity that is only described (“the team that owns it”) need not.",
        ),
        Formula("Logistic", "ours", fusion.logistic_probability),
        Formula("nDCG", "metrics", metrics.ndcg),
        Formula("DCG", "metrics", metrics.dcg),
        Formula("Recall at k", "metrics", metrics.recall_at_k),
        Formula("Reciprocal rank", "metrics", metrics.reciprocal_rank),
        Formula("Average precision", "metrics", metrics.average_precision),
        Formula("Kendall's tau", "metrics", metrics.kendall_tau),
        Formula("Rank-biased overlap", "metrics", metrics.rank_biased_overlap),
        Formula("Expected calibration error", "metrics", calibration.expected_calibration_error),
    ),
)
