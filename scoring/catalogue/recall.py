"""Source 000, “Scoring Functions in Recall: Confidence, Freshness, and Fusion”."""

from scoring.catalogue.entry import CatalogueSource, ReportedResult
from scoring.catalogue.recall_calibration import CALIBRATION, DEDUP_TABLE
from scoring.catalogue.recall_confidence import CONFIDENCE
from scoring.catalogue.recall_shaping import SHAPING
from scoring.catalogue.recall_weight import FUSION, WEIGHT

SOURCE = CatalogueSource(
    number="000",
    title="Scoring Functions in Recall: Confidence, Freshness, and Fusion",
    system="recall",
    formulas=(*CONFIDENCE, *WEIGHT, *FUSION, *SHAPING, *CALIBRATION),
    reported=(
        ReportedResult("Why RRF, not score-sum", {"a BM25 score": "12.5", "a cosine": "0.87"}),
        ReportedResult(
            "Deduplication Math", {"tokens of a memory, from": "10", "to": "50", "% of pairs a judge sees": "10"}
        ),
        ReportedResult(
            "The calibration dataset", {"conversations": "500", "κ on Preferences at first": "0.71", "then": "0.79"}
        ),
        ReportedResult(
            "RRF k=60",
            {
                "flat from k": "40",
                "to k": "80",
                "within %": "0.3",
                "at k": "20",
                "nDCG@10 loses %": "1.8",
                "and at k": "120",
                "it loses %": "0.9",
            },
        ),
        *(
            ReportedResult(
                "Cosine dedup threshold 0.92",
                {"threshold": threshold, "% false positives": f"{wrong:g}", "% false negatives": f"{missed:g}"},
            )
            for threshold, wrong, missed, _ in DEDUP_TABLE
        ),
        ReportedResult("Type prior values", {"% agreement on Entity": "95", "on Relation": "72"}),
        ReportedResult(
            "Missing logprobs",
            {"token means from": "0.50", "to": "0.99", "expected error": "0.05", "a borderline extraction": "0.61"},
        ),
        ReportedResult("Unknown type", {"% of extractions": "0.5"}),
    ),
)
