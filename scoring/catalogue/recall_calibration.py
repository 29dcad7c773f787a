"""Source 000, appendix A: calibration on annotated data."""

from functools import partial

from scoring import calibration
from scoring.catalogue.entry import Formula, PrintedValue, constants
from scoring.policy import PRESETS, WritePolicyParams

_policy = WritePolicyParams()
_WEIGHTS = ("weight_source", "weight_repetition", "weight_extractor", "weight_prior")
DEDUP_TABLE = (
    ("0.85", 12, 1, "13"),
    ("0.88", 6, 2, "8"),
    ("0.90", 4, 3, "7"),
    ("0.92", 2, 5, "7"),
    ("0.95", 0.5, 18, "18.5"),
)

CALIBRATION = (
    Formula(
        "Cohen's kappa",
        "The calibration dataset",
        calibration.cohens_kappa,
        (
            constants(WritePolicyParams, {"kappa_gate": "0.75"}),
            constants(WritePolicyParams, {"kappa_preference": "0.70"}),
        ),
        note="An annotation may carry a domain; κ and weights are given for each domain beside the overall ones.",
        symbols="pₒ observed agreement, pₑ agreement by chance",
    ),
    Formula("Validity gate", "The calibration dataset", calibration.kappa_suffices),
    Formula("Smoothing sweep", "RRF k=60", calibration.k_sweep),
    Formula(
        "Confidence weights",
        "Confidence formula weights",
        calibration.fit_weights,
        printed_values=(
            PrintedValue(
                "1.0", "sum of the weights", lambda: sum(float(weight.value) for weight in _policy.weights(*_WEIGHTS))
            ),
            PrintedValue("0.24", "repetition weight for software", lambda: PRESETS["software"]["weight_repetition"]),
            PrintedValue("0.16", "repetition weight for law", lambda: PRESETS["legal"]["weight_repetition"]),
        ),
        symbols="θ free parameters; the weights are their softmax",
    ),
    Formula(
        "Deduplication errors",
        "Cosine dedup threshold 0.92",
        calibration.dedup_sweep,
        printed_values=tuple(
            PrintedValue(total, f"total error in % at {threshold}", partial(calibration.total_error, wrong, missed))
            for threshold, wrong, missed, total in DEDUP_TABLE
        ),
    ),
    Formula(
        "Recalibration triggers",
        "Recalibration trigger",
        calibration.recalibration,
        (constants(WritePolicyParams, {"formal_source": "0.35", "formal_extractor": "0.30", "direct_share": "0.90"}),),
    ),
    Formula(
        "Index recall alert",
        "All Thresholds in One Place",
        calibration.index_alert,
        (constants(WritePolicyParams, {"index_recall": "0.95"}, index_recall=("0.90", "0.99")),),
        note="Ours: the effort of the search (ef_search) rises until the measured recall reaches the threshold by a "
        "standard error.",
    ),
)
