"""Seed 000, Appendix A: fitting the constants to annotated data."""

from functools import partial

from scoring import calibration
from scoring.catalogue.entry import Figure, Formula, constants
from scoring.policy import PRESETS, WritePolicy

_policy = WritePolicy()
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
            constants(WritePolicy, {"kappa_gate": "0.75"}),
            constants(WritePolicy, {"kappa_preference": "0.70"}),
        ),
        where="pₒ observed agreement, pₑ agreement by chance",
    ),
    Formula("Validity gate", "The calibration dataset", calibration.valid),
    Formula("Smoothing sweep", "RRF k=60", calibration.k_sweep),
    Formula(
        "Confidence weights",
        "Confidence formula weights",
        calibration.fit_weights,
        figures=(
            Figure("1.0", "the weights add up to", lambda: sum(float(one.value) for one in _policy.weights(*_WEIGHTS))),
            Figure("0.24", "repetition weight for software", lambda: PRESETS["software"]["weight_repetition"]),
            Figure("0.16", "repetition weight for law", lambda: PRESETS["legal"]["weight_repetition"]),
        ),
        where="θ free parameters whose softmax are the weights",
    ),
    Formula(
        "Deduplication errors",
        "Cosine dedup threshold 0.92",
        calibration.dedup_sweep,
        figures=tuple(
            Figure(total, f"total error in % at {threshold}", partial(calibration.total_error, wrong, missed))
            for threshold, wrong, missed, total in DEDUP_TABLE
        ),
    ),
    Formula(
        "Recalibration triggers",
        "Recalibration trigger",
        calibration.recalibration,
        (constants(WritePolicy, {"formal_source": "0.35", "formal_extractor": "0.30", "direct_share": "0.90"}),),
    ),
    Formula(
        "Index recall alert",
        "All Thresholds in One Place",
        calibration.index_alert,
        (constants(WritePolicy, {"index_recall": "0.95"}, index_recall=("0.90", "0.99")),),
    ),
)
