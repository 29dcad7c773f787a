"""Seed 004, contextdb's “Scoring Function”."""

import numpy as np

from scoring import confidence, freshness
from scoring.catalogue.entry import Figure, Formula, Source, constants
from scoring.systems import contextdb
from scoring.systems.contextdb import ContextdbParams

_params = ContextdbParams()
_DIMENSIONS = ("similarity", "confidence", "recency", "utility", "alpha")
_MODES = {
    "belief_system": ("0.30", "0.45", "0.20", "0.05", "0.03"),
    "agent_memory": ("0.35", "0.20", "0.25", "0.20", "0.05"),
    "general": ("0.40", "0.30", "0.20", "0.10", "0.05"),
    "procedural": ("0.40", "0.40", "0.15", "0.05", "0.001"),
}


def _no_feedback() -> float:
    return float(confidence.utility(np.asarray(0.0), np.asarray(0.0)))


def _half_life(alpha: float, unit: float) -> float:
    return float(freshness.half_life_of(alpha)) / unit


SOURCE = Source(
    seed="004",
    title="contextdb: Scoring Function",
    system="contextdb",
    formulas=(
        Formula(
            "Composite score",
            "The formula",
            contextdb.score,
            (
                constants(
                    ContextdbParams,
                    {"similarity": "0.40", "confidence": "0.30", "recency": "0.20", "utility": "0.10", "alpha": "0.05"},
                ),
            ),
            note="Weights are divided by their sum; a negative cosine counts as 0.",
            where="w weights of sum 1, α the rate of decay per hour",
        ),
        Formula(
            "Recency decay",
            "Recency decay",
            freshness.decay,
            (
                constants(
                    ContextdbParams,
                    {
                        "alpha_working": "999.0",
                        "alpha_episodic": "0.08",
                        "alpha_semantic": "0.02",
                        "alpha_procedural": "0.001",
                    },
                ),
            ),
            note="α of the query counts, else that of the memory's kind, else the mode's.",
            where="α the rate of decay per hour",
        ),
        Formula(
            "Half-life of a rate",
            "Recency decay",
            freshness.half_life_of,
            figures=(
                Figure("8.7", "episodic, in hours", lambda: _half_life(_params.alpha_episodic, 1)),
                Figure("34.7", "semantic, in hours", lambda: _half_life(_params.alpha_semantic, 1)),
                Figure("29", "procedural, in days", lambda: _half_life(_params.alpha_procedural, 24)),
                Figure("13.9", "general, in hours", lambda: _half_life(_params.alpha, 1)),
            ),
            note="Working memory: “seconds” in the text, 2.5 of them by the formula.",
        ),
        Formula(
            "Utility",
            "Score dimensions",
            confidence.utility,
            figures=(Figure("0.5", "no feedback yet", _no_feedback, worked=True),),
            note="The text names the dimension and not its formula; this one is ours.",
        ),
        Formula(
            "Provenance attenuation",
            "Provenance attenuation",
            confidence.provenance,
            (constants(ContextdbParams, {"attenuation": "0.9"}),),
            (
                Figure(
                    "73",
                    "% kept after three hops",
                    lambda: 100 * float(confidence.provenance(np.asarray(3.0), np.asarray(0.9))),
                ),
            ),
        ),
        Formula(
            "Expiry",
            "Expiry-aware scoring",
            freshness.expiry,
            (constants(ContextdbParams, {"expiry_rate": "0.02"}),),
            (
                Figure(
                    "60",
                    "% of confidence lost 48 hours before expiry",
                    lambda: 100 * (1 - float(freshness.expiry(np.asarray(48.0), _params.expiry_rate))),
                    "the text misreads its multiplier: .617 remains, 38 % is lost",
                ),
            ),
        ),
    ),
    presets={mode: dict(zip(_DIMENSIONS, row, strict=True)) for mode, row in _MODES.items()},
)
