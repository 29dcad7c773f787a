"""What is taken from a search: not the best, but the smallest change that is as good (the one-standard-error rule).

The best of many settings is best partly by luck. What a parameter adds within one standard error of the best, query by
query, is not worth having changed it: such parameters go back to the start, those that add least first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from scoring.searching import ParamValues
from scoring.term import Array


def simplest_change(
    changes: dict[str, Any], objective: Callable[[ParamValues], Array], is_valid: Callable[[ParamValues], bool]
) -> dict[str, Any]:
    """A change without what it can do without; `worth` tells what each query is worth under one."""
    best, kept = objective(changes), dict(changes)
    if within_one_standard_error(objective({}), best):
        return {}
    losses = {
        name: float((best - objective(fewer)).mean())
        for name in changes
        if is_valid(fewer := without_param(changes, name))
    }
    for name in sorted(losses, key=lambda name: losses[name]):
        fewer = without_param(kept, name)
        if is_valid(fewer) and within_one_standard_error(objective(fewer), best):
            kept = fewer
    return kept


def within_one_standard_error(values: Array, best: Array) -> bool:
    """Whether it loses at most one standard error of the differences."""
    lost = best - values
    if len(lost) < 2:
        return float(lost.sum()) <= 0.0
    return bool(lost.mean() <= np.std(lost, ddof=1) / np.sqrt(len(lost)))


def without_param(changes: ParamValues, name: str) -> dict[str, Any]:
    """A change with one parameter back at the start."""
    return {one: value for one, value in changes.items() if one != name}
