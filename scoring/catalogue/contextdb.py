"""Source 004, contextdb's “Scoring Function”."""

import numpy as np

from scoring import confidence, freshness
from scoring.catalogue.entry import CatalogueSource, Formula, PrintedValue, constants
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


SOURCE = CatalogueSource(
    number="004",
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
            symbols="w weights that sum to 1, α the decay rate per hour",
        ),
        Formula(
            "Recency decay",
            "Recency decay",
            freshness.exponential_decay,
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
            note=(
                "α of the query, else of the memory's kind, else of the mode. A request that gives α replaces every "
                "kind's; a mode or a profile gives that of general memories."
            ),
            symbols="α the decay rate per hour",
        ),
        Formula(
            "Half-life of a rate",
            "Recency decay",
            freshness.half_life_of,
            printed_values=(
                PrintedValue("8.7", "episodic, in hours", lambda: _half_life(_params.alpha_episodic, 1)),
                PrintedValue("34.7", "semantic, in hours", lambda: _half_life(_params.alpha_semantic, 1)),
                PrintedValue("29", "procedural, in days", lambda: _half_life(_params.alpha_procedural, 24)),
                PrintedValue("13.9", "general, in hours", lambda: _half_life(_params.alpha, 1)),
            ),
            note="Working memory: “seconds” in the text, 2.5 seconds by the formula.",
        ),
        Formula(
            "Utility",
            "Score dimensions",
            confidence.utility,
            printed_values=(PrintedValue("0.5", "no feedback yet", _no_feedback, derived=True),),
            note="The text names the dimension without a formula; this one is ours.",
        ),
        Formula(
            "Provenance attenuation",
            "Provenance attenuation",
            confidence.provenance,
            (constants(ContextdbParams, {"attenuation": "0.9"}),),
            (
                PrintedValue(
                    "73",
                    "% left after three hops",
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
                PrintedValue(
                    "60",
                    "% of confidence lost 48 hours before expiry",
                    lambda: 100 * (1 - float(freshness.expiry(np.asarray(48.0), _params.expiry_rate))),
                    "the text misreads its multiplier: .617 remains, so 38 % is lost",
                ),
            ),
        ),
    ),
    presets={mode: dict(zip(_DIMENSIONS, row, strict=True)) for mode, row in _MODES.items()},
)
