"""What is taken from a search: not the best, but the smallest change that is as good (the one-standard-error rule).

The best of many settings is best partly by luck. What a parameter adds within one standard error of the best, query by
query, is not worth having changed it: such parameters go back to the start, those that add least first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from scoring.searching import Values
from scoring.term import Array


def chosen(
    changed: dict[str, Any], worth: Callable[[Values], Array], allowed: Callable[[Values], bool]
) -> dict[str, Any]:
    """A change without what it can do without; `worth` tells what each query is worth under one."""
    best, kept = worth(changed), dict(changed)
    if as_good(worth({}), best):
        return {}
    losses = {name: float((best - worth(fewer)).mean()) for name in changed if allowed(fewer := without(changed, name))}
    for name in sorted(losses, key=lambda name: losses[name]):
        fewer = without(kept, name)
        if allowed(fewer) and as_good(worth(fewer), best):
            kept = fewer
    return kept


def as_good(one: Array, best: Array) -> bool:
    """Whether it loses at most one standard error of the differences."""
    lost = best - one
    if len(lost) < 2:
        return float(lost.sum()) <= 0.0
    return bool(lost.mean() <= np.std(lost, ddof=1) / np.sqrt(len(lost)))


def without(changed: Values, name: str) -> dict[str, Any]:
    """A change with one parameter back at the start."""
    return {one: value for one, value in changed.items() if one != name}
