r"""Query specificity, and the retrieval plan it selects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from scoring.params import Params
from scoring.signals import RETRIEVERS
from scoring.term import Array, Quantity, maximum, minimum, total

TemporalCue = Literal["exact", "relative", "month", "vague", "none"]
TypeCue = Literal["explicit", "implied", "none"]
# A day is exact; a named month or quarter is as precise as a relative time; a bare year or season is vague.
TEMPORAL_PRECISION: Mapping[TemporalCue, float] = {
    "exact": 1.0,
    "relative": 0.7,
    "month": 0.7,
    "vague": 0.3,
    "none": 0.0,
}
TYPE_CUE_STRENGTH: Mapping[TypeCue, float] = {"explicit": 1.0, "implied": 0.5, "none": 0.0}


def specificity(parts: Mapping[str, Quantity], weights: Mapping[str, Quantity | float]) -> Quantity:
    r"""Weighted sum of entity density, temporal precision, lexical rarity and type cue, each clamped to [0, 1].

    $$ \text{specificity} = 0.35 \cdot \text{entity_density} + 0.25 \cdot \text{temporal_precision}
       + 0.25 \cdot \text{lexical_rarity} + 0.15 \cdot \text{type_cue} $$

    >>> parts = {"entity_density": np.array(0.1), "temporal_precision": np.array(0.3),
    ...          "lexical_rarity": np.array(0.62), "type_cue": np.array(1.0)}
    >>> specificity(parts, dict(zip(parts, (0.35, 0.25, 0.25, 0.15)))).round(4)
    np.float64(0.415)
    """
    return total(weights[name] * minimum(maximum(part, 0.0), 1.0) for name, part in parts.items())


def entity_density(entities: int, tokens: int) -> float:
    r"""Resolved entities per query token, at most 1.

    $$ \text{entity_density} = \frac{\text{resolved entities}}{\text{query tokens}} $$

    >>> entity_density(1, 10)
    0.1
    """
    return min(1.0, entities / tokens) if tokens else 0.0


def lexical_rarity(idfs: Array, highest: float, *, stop_words: int) -> float:
    r"""Mean idf of the query terms relative to the corpus maximum.

    A stop word is a term that tells nothing apart: its idf is 0. A term that no memory contains has no idf in the
    corpus, so it is not among the terms. The maximum is the idf of a term in a single memory.

    $$ \text{lexical_rarity} = \frac{\mathrm{mean}\,\text{IDF}(q)}{\max \text{IDF}} $$

    >>> lexical_rarity(np.array([2.0, 4.0]), 6.0, stop_words=0), lexical_rarity(np.array([6.0]), 6.0, stop_words=3)
    (0.5, 0.25)
    """
    terms = len(idfs) + stop_words
    return min(1.0, float(np.sum(idfs)) / terms / highest) if terms and highest > 0 else 0.0


@dataclass(frozen=True)
class Plan:
    """Retrievers to run, parameter overrides, and whether to rerank and diversify."""

    name: str
    retrievers: tuple[str, ...] = RETRIEVERS
    params: Mapping[str, float] = field(default_factory=dict)
    rerank: bool = False
    diversify: bool = False
    top_k: int | None = None


def plan_for(
    specificity: float,
    entity_confidence: float,
    window_precision: float,
    *,
    precise: float,
    exploratory: float,
    entity_threshold: float,
    window_threshold: float,
    precise_top_k: int,
    entity_weight: float,
    temporal_weight: float,
) -> Plan:
    r"""The first plan in the paper's table whose condition is met.

    $$ \begin{cases} \text{precise} & \text{specificity} \ge 0.8 \\
       \text{entity-centric} & \text{entity match} > 0.85 \\
       \text{temporal} & \text{window precision} \ge 0.7 \\ \text{exploratory} & \text{specificity} < 0.4 \\
       \text{hybrid} & \text{else} \end{cases} $$
    """
    if specificity >= precise:
        return Plan("precise", retrievers=("semantic", "entity"), top_k=precise_top_k)
    if entity_confidence > entity_threshold:
        return Plan("entity-centric", params={"weight_entity": entity_weight})
    if window_precision >= window_threshold:
        return Plan("temporal", params={"weight_temporal": temporal_weight})
    if specificity < exploratory:
        return Plan("exploratory", rerank=True, diversify=True)
    return Plan("hybrid")


P = TypeVar("P", bound=Params)


def params_for_plan(params: type[P], plan: Plan, overrides: Mapping[str, object]) -> P:
    """Parameters under a plan; values from the caller override the plan's, and imply others."""
    return params.of({**plan.params, **overrides, **params.implications(overrides)})
