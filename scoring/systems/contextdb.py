"""contextdb (seed 004): similarity, confidence, recency and utility, weighed for the purpose of the namespace."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.confidence import provenance, utility
from scoring.freshness import decay, expiry
from scoring.params import choice, not_all_zero, number
from scoring.signals import KINDS, Signals
from scoring.systems.candidates import Pool
from scoring.systems.system import System, found_by
from scoring.term import Term, given, param_of_each, product, total

_weight = partial(number, group="Dimensions", low=0, high=1, step=0.01, seed="004 Preset strategies")
_alpha = partial(
    number, group="Recency", low=1e-6, high=999, step=0.001, log=True, unit="per h", seed="004 Recency decay"
)
_trust = partial(number, group="Trust", step=0.01)


@dataclass(frozen=True)
class ContextdbParams(Pool):
    """What contextdb lets a caller turn."""

    similarity: float = _weight(0.40, "pull of the query's meaning")
    confidence: float = _weight(0.30, "pull of trustworthiness")
    recency: float = _weight(0.20, "pull of the new")
    utility: float = _weight(0.10, "pull of what proved useful")

    alpha_by: str = choice(
        "kind",
        "whose rate counts: each kind's own, or one for all",
        options=("kind", "query"),
        group="Recency",
        seed="004 Overriding at query time",
    )
    alpha: float = _alpha(0.05, "how fast a general memory fades, or all of them")
    alpha_working: float = _alpha(999.0, "how fast working memory fades")
    alpha_episodic: float = _alpha(0.08, "how fast an episode fades")
    alpha_semantic: float = _alpha(0.02, "how fast knowledge fades")
    alpha_procedural: float = _alpha(0.001, "how fast a procedure fades")

    attenuation: float = _trust(
        0.9, "what each hop of hearsay keeps", low=0.5, high=1, seed="004 Provenance attenuation"
    )
    expiry_rate: float = _trust(
        0.02, "how early its end is felt", low=0.001, high=0.2, step=0.001, seed="004 Expiry-aware scoring"
    )

    rules = (not_all_zero("similarity", "confidence", "recency", "utility"),)


def alpha(signals: Signals, params: ContextdbParams) -> Term:
    """α of the query, else of the memory's kind, else of the mode."""
    if params.alpha_by == "query":
        return params["alpha"]
    names = ["alpha" if kind == "general" else f"alpha_{kind}" for kind in KINDS]
    return param_of_each(names, [getattr(params, name) for name in names], signals.kind)


def trust(signals: Signals, params: ContextdbParams) -> Term:
    """confidence × 0.9^provenance_depth × (1 − exp(−0.02 · hours_until_expiry)); an evergreen has no last factor."""
    hops = provenance(given("provenance depth", signals.provenance_depth), params["attenuation"]).named("provenance")
    ending = expiry(given("hours left", signals.hours_left), params["expiry_rate"]).named("expiry")
    return product([given("confidence", signals.confidence), hops, ending]).named("trust")


def score(signals: Signals, params: ContextdbParams) -> Term:
    r"""w_sim·similarity + w_conf·confidence + w_rec·exp(−α·age_hours) + w_util·utility

    $$ w_{\text{sim}} \cos^{+}(m, q) + w_{\text{conf}}\,\text{confidence}
       + w_{\text{rec}}\,e^{-\alpha \cdot \text{age_hours}} + w_{\text{util}}\,\text{utility} $$
    """
    parts = {
        "similarity": given("similarity", np.maximum(signals.cosine, 0.0)),
        "confidence": trust(signals, params),
        "recency": decay(given("hours since valid", signals.valid_hours), alpha(signals, params)).named("recency"),
        "utility": utility(given("useful", signals.useful), given("not useful", signals.not_useful)).named("utility"),
    }
    weights = dict(zip(parts, params.weights(*parts), strict=True))
    return total((weights[name] * part).named(f"{name} share") for name, part in parts.items()).named("composite")


def _mode(similarity: float, confidence: float, recency: float, utility: float, alpha: float) -> dict[str, float]:
    return {"similarity": similarity, "confidence": confidence, "recency": recency, "utility": utility, "alpha": alpha}


SYSTEM = System(
    name="contextdb",
    seed="004",
    summary="Weighs meaning, trust, recency and usefulness, with presets for what a namespace is for.",
    params=ContextdbParams,
    routes=("semantic",),
    score=score,
    presets={
        "belief_system": _mode(0.30, 0.45, 0.20, 0.05, 0.03),
        "agent_memory": _mode(0.35, 0.20, 0.25, 0.20, 0.05),
        "general": _mode(0.40, 0.30, 0.20, 0.10, 0.05),
        "procedural": _mode(0.40, 0.40, 0.15, 0.05, 0.001),
    },
    shares={"semantic": "similarity share"},
    outputs={"composite": "composite", "sim": "similarity", "conf": "trust", "rec": "recency", "util": "utility"},
    details=lambda signals, params, row: {"source": found_by(signals, ("semantic",), row)},
)
