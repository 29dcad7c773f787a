"""contextdb (source 004): weighted sum of similarity, confidence, recency and utility."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from scoring.confidence import provenance, utility
from scoring.freshness import expiry, exponential_decay
from scoring.params import choice, inert_while, inert_while_alone, not_all_zero, number
from scoring.signals import KINDS, Signals
from scoring.systems.candidates import PoolParams
from scoring.systems.system import System, finding_retrievers
from scoring.term import Term, feature, param_per_candidate, product, total

DIMENSIONS = ("similarity", "confidence", "recency", "utility")
KIND_ALPHAS = tuple(f"alpha_{kind}" for kind in KINDS if kind != "general")
_weight = partial(number, group="Dimensions", low=0, high=1, step=0.01, source="004 Preset strategies")
_alpha = partial(
    number, group="Recency", low=1e-6, high=999, step=0.001, log=True, unit="per h", source="004 Recency decay"
)
_trust = partial(number, group="Trust", step=0.01)


@dataclass(frozen=True)
class ContextdbParams(PoolParams):
    """Parameters of contextdb."""

    similarity: float = _weight(0.40, "similarity weight")
    confidence: float = _weight(0.30, "confidence weight")
    recency: float = _weight(0.20, "recency weight")
    utility: float = _weight(0.10, "utility weight")

    alpha_by: str = choice(
        "kind",
        "decay rate by memory kind, or one rate for all",
        options=("kind", "query"),
        group="Recency",
        source="004 Overriding at query time",
    )
    alpha: float = _alpha(0.05, "α, decay rate of general memories, or of all")
    alpha_working: float = _alpha(999.0, "α of working memory")
    alpha_episodic: float = _alpha(0.08, "α of episodic memory")
    alpha_semantic: float = _alpha(0.02, "α of semantic memory")
    alpha_procedural: float = _alpha(0.001, "α of procedural memory")

    attenuation: float = _trust(
        0.9, "attenuation per provenance hop", low=0.5, high=1, source="004 Provenance attenuation"
    )
    expiry_rate: float = _trust(
        0.02,
        "expiry rate (lower lowers confidence earlier)",
        low=0.001,
        high=0.2,
        step=0.001,
        source="004 Expiry-aware scoring",
    )

    rules = (not_all_zero(*DIMENSIONS),)
    inert = (
        *inert_while_alone(*DIMENSIONS),
        inert_while("one α holds for all", *KIND_ALPHAS, alpha_by="query"),
        inert_while("recency has no weight", "alpha_by", "alpha", *KIND_ALPHAS, recency=0),
        inert_while("confidence has no weight", "attenuation", "expiry_rate", confidence=0),
    )

    @classmethod
    def as_requested(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """An α in a request replaces every kind's, unless the request says otherwise."""
        return {"alpha_by": "query", **given} if "alpha" in given else given


def alpha(signals: Signals, params: ContextdbParams) -> Term:
    """α of the query, which a request that gives one asks for, else of the memory's kind, else of the mode."""
    if params.alpha_by == "query":
        return params["alpha"]
    names = ["alpha" if kind == "general" else f"alpha_{kind}" for kind in KINDS]
    return param_per_candidate(names, [getattr(params, name) for name in names], signals.kind)


def trust(signals: Signals, params: ContextdbParams) -> Term:
    """confidence × 0.9^provenance_depth × (1 − exp(−0.02 · hours_until_expiry)); no last factor without expiry."""
    hops = provenance(feature("provenance depth", signals.provenance_depth), params["attenuation"]).with_name(
        "provenance"
    )
    expiring = expiry(feature("hours left", signals.hours_left), params["expiry_rate"]).with_name("expiry")
    return product([feature("confidence", signals.confidence), hops, expiring]).with_name("trust")


def score(signals: Signals, params: ContextdbParams) -> Term:
    r"""w_sim·similarity + w_conf·confidence + w_rec·exp(−α·age_hours) + w_util·utility

    $$ w_{\text{sim}} \cos^{+}(m, q) + w_{\text{conf}}\,\text{confidence}
       + w_{\text{rec}}\,e^{-\alpha \cdot \text{age_hours}} + w_{\text{util}}\,\text{utility} $$
    """
    parts = {
        "similarity": feature("similarity", np.maximum(signals.cosine, 0.0)),
        "confidence": trust(signals, params),
        "recency": exponential_decay(
            feature("hours since valid", signals.valid_hours), alpha(signals, params)
        ).with_name("recency"),
        "utility": utility(feature("useful", signals.useful), feature("not useful", signals.not_useful)).with_name(
            "utility"
        ),
    }
    weights = dict(zip(parts, params.weights(*parts), strict=True))
    return total((weights[name] * part).with_name(f"{name} share") for name, part in parts.items()).with_name(
        "composite"
    )


def _mode(similarity: float, confidence: float, recency: float, utility: float, alpha: float) -> dict[str, float]:
    return {"similarity": similarity, "confidence": confidence, "recency": recency, "utility": utility, "alpha": alpha}


SYSTEM = System(
    name="contextdb",
    source="004",
    summary="Weighted sum of similarity, confidence, recency and utility, with presets per use case.",
    params=ContextdbParams,
    retrievers=("semantic",),
    score=score,
    presets={
        "belief_system": _mode(0.30, 0.45, 0.20, 0.05, 0.03),
        "agent_memory": _mode(0.35, 0.20, 0.25, 0.20, 0.05),
        "general": _mode(0.40, 0.30, 0.20, 0.10, 0.05),
        "procedural": _mode(0.40, 0.40, 0.15, 0.05, 0.001),
    },
    retriever_terms={"semantic": "similarity share"},
    outputs={"composite": "composite", "sim": "similarity", "conf": "trust", "rec": "recency", "util": "utility"},
    details=lambda signals, params, order, row: {"source": finding_retrievers(signals, ("semantic",), row)},
)
