"""The one-standard-error rule: of a search's result, keep the smallest change that is as good as the best.

The best of many trials is best partly by luck. Parameters whose change gains less than one standard error of the
per-query differences go back to their start, those that gain least first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from scoring.searching import ParamValues
from scoring.term import Array


def simplest_change(
    changes: dict[str, Any], objective: Callable[[ParamValues], Array], is_valid: Callable[[ParamValues], bool]
) -> dict[str, Any]:
    """The smallest subset of a change within one standard error; `objective` gives each query's value under one."""
    best, simplest = objective(changes), dict(changes)
    if within_one_standard_error(objective({}), best):
        return {}
    losses = {
        name: float((best - objective(fewer)).mean())
        for name in changes
        if is_valid(fewer := without_param(changes, name))
    }
    for name in sorted(losses, key=lambda name: losses[name]):
        fewer = without_param(simplest, name)
        if is_valid(fewer) and within_one_standard_error(objective(fewer), best):
            simplest = fewer
    return simplest


def within_one_standard_error(values: Array, best: Array) -> bool:
    """Whether it loses at most one standard error of the differences."""
    losses = best - values
    if len(losses) < 2:
        return float(losses.sum()) <= 0.0
    return bool(losses.mean() <= np.std(losses, ddof=1) / np.sqrt(len(losses)))


def without_param(changes: ParamValues, name: str) -> dict[str, Any]:
    """A change with one parameter back at the start."""
    return {param: value for param, value in changes.items() if param != name}
