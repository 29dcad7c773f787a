"""Seed 000, “Scoring Functions in Recall: Confidence, Freshness, and Fusion”."""

from scoring.catalogue.entry import Reported, Source
from scoring.catalogue.recall_calibration import CALIBRATION
from scoring.catalogue.recall_confidence import CONFIDENCE
from scoring.catalogue.recall_shaping import SHAPING
from scoring.catalogue.recall_weight import FUSION, WEIGHT

SOURCE = Source(
    seed="000",
    title="Scoring Functions in Recall: Confidence, Freshness, and Fusion",
    system="recall",
    formulas=(*CONFIDENCE, *WEIGHT, *FUSION, *SHAPING, *CALIBRATION),
    reported=(
        Reported("Why RRF, not score-sum", ("12.5", "0.87"), "scores that cannot be compared"),
        Reported("Deduplication Math", ("10", "50", "10"), "tokens of a memory; share of pairs the judge sees, in %"),
        Reported(
            "The calibration dataset", ("500", "0.71", "0.79"), "conversations; κ on Preferences before and after"
        ),
        Reported(
            "RRF k=60",
            ("40", "80", "0.3", "20", "1.8", "120", "0.9"),
            "nDCG@10 lost in %: within k 40–80, at k 20, at k 120",
        ),
        Reported(
            "Cosine dedup threshold 0.92",
            ("0.88", "12", "1", "6", "2", "4", "3", "2", "5", "0.5", "18"),
            "false positives and false negatives in % at .85, .88, .90, .92 and .95",
        ),
        Reported("Type prior values", ("95", "72"), "annotators' agreement in %: Entity, Relation"),
        Reported(
            "Missing logprobs",
            ("0.50", "0.99", "0.05", "0.61"),
            "range of token means; expected error; a borderline case",
        ),
        Reported("Unknown type", ("0.5",), "share of extractions in %"),
        Reported("Step 8: RRF fusion score", ("3", "1"), "the ranks of the example"),
        Reported("Step 10: Context inclusion decision", ("4",), "the place of the example in its own list"),
    ),
)
