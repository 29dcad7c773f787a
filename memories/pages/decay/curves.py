"""Decay curves of the systems that have them, computed by the systems' own formulas."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memories.pages.decay.memory_ages import AgeSource
from scoring.freshness import exponential_decay, half_life_of
from scoring.signals import INTENTS, KINDS, TYPES, Signals
from scoring.systems import contextdb, memorysync, recall
from scoring.term import Array

HOURS_PER_DAY = 24


@dataclass(frozen=True)
class DecayCurve:
    """One curve: its name, the parameter that sets its half-life, and the memories it applies to."""

    name: str
    param: str
    memory_filter: Mapping[str, str]  # field and value; empty if the query selects the curve


@dataclass(frozen=True)
class CurveFamily:
    """The decay curves of one system."""

    system: str
    description: str
    curves: Sequence[DecayCurve]
    params: Sequence[str]  # that the curves depend on
    freshness: Callable[[Array, DecayCurve, Any], Array]  # by age in days
    half_life: Callable[[DecayCurve, Any], float]  # in days
    age_source: AgeSource
    log_time: bool = False  # for half-lives of hours
    query_curve: str = ""  # the curve that memories are plotted on if the query selects it


def freshness_by_type(ages: Array, curve: DecayCurve, params: recall.FreshnessParams) -> Array:
    """Freshness of a memory of one type."""
    types = np.full(len(ages), TYPES.index(curve.name))
    return recall.recall_freshness(
        Signals(ids=np.arange(len(ages)).astype(str), type=types, age_days=ages), params
    ).value


def recency_by_intent(ages: Array, curve: DecayCurve, params: memorysync.MemorysyncParams) -> Array:
    """Recency for a query of one intent."""
    signals = Signals(ids=np.arange(len(ages)).astype(str), age_days=ages, intent=curve.name)
    return memorysync.raw_factors(signals, params.with_values(intent="query"))["recency"].value


def recency_by_kind(ages: Array, curve: DecayCurve, params: contextdb.ContextdbParams) -> Array:
    """Recency of a memory of one kind."""
    return np.asarray(exponential_decay(HOURS_PER_DAY * ages, contextdb_rate(curve, params)))


def contextdb_rate(curve: DecayCurve, params: contextdb.ContextdbParams) -> float:
    """The decay rate of a kind, per hour."""
    signals = Signals(ids=np.array(["any"]), kind=np.array([KINDS.index(curve.name)]))
    return float(contextdb.alpha(signals, params).value.item())


CREATED = AgeSource(("created_at",))
FAMILIES = {
    "recall": CurveFamily(
        "recall",
        "five types of memory",
        [DecayCurve(type, f"half_life_{type.lower()}", {"type": type}) for type in TYPES],
        [*(f"half_life_{type.lower()}" for type in TYPES), "freshness_floor"],
        freshness_by_type,
        lambda curve, params: float(getattr(params, curve.param)),
        CREATED,
    ),
    "memorysync": CurveFamily(
        "memorysync",
        "three query intents",
        [DecayCurve(intent, f"half_life_{intent.lower()}", {}) for intent in INTENTS],
        [f"half_life_{intent.lower()}" for intent in INTENTS],
        recency_by_intent,
        lambda curve, params: float(getattr(params, curve.param)) / HOURS_PER_DAY,
        CREATED,
        log_time=True,
        query_curve="MEDIUM",
    ),
    "contextdb": CurveFamily(
        "contextdb",
        "five kinds of memory",
        [DecayCurve(kind, "alpha" if kind == "general" else f"alpha_{kind}", {"kind": kind}) for kind in KINDS],
        ["alpha_by", "alpha", *(f"alpha_{kind}" for kind in KINDS if kind != "general")],
        recency_by_kind,
        lambda curve, params: float(half_life_of(contextdb_rate(curve, params))) / HOURS_PER_DAY,
        AgeSource(("valid_from", "created_at")),
        log_time=True,
    ),
}
