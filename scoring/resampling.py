r"""How sure a mean over queries is, and whether two settings differ by more than chance; the same answer each time."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scoring.term import Array

RESAMPLES = 1_000
FLIPS = 10_000
SEED = 20_011
Z = 1.959964  # standard errors to either side, for 95 %


class Interval(NamedTuple):
    """A mean, and between which bounds 95 of 100 samples of like queries would have theirs."""

    mean: float
    low: float
    high: float


@lru_cache(maxsize=16)
def _drawn(queries: int) -> Array:
    """How often each query is drawn in each resample."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(queries, np.full(queries, 1.0 / queries), RESAMPLES).astype(float)


def bootstrap(values: Array) -> list[Interval]:
    r"""The mean of each column over queries with its percentile bootstrap interval.

    $$ \bar{x} \in \left[q_{.025}(\bar{x}^{*}),\ q_{.975}(\bar{x}^{*})\right] $$

    >>> bootstrap(np.array([[1.0], [1.0]]))
    [Interval(mean=1.0, low=1.0, high=1.0)]
    """
    if not len(values):
        return [Interval(0.0, 0.0, 0.0)] * values.shape[1]
    means = _drawn(len(values)) @ values / len(values)
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return [Interval(*map(float, one)) for one in zip(values.mean(axis=0), low, high, strict=True)]


def share(true: Array) -> Interval:
    r"""How many of some are so, with Wilson's interval: where none or all are, it still says how sure that is.

    $$ \frac{\hat{p} + \frac{z^2}{2n} \pm z \sqrt{\frac{\hat{p}(1 - \hat{p})}{n} + \frac{z^2}{4n^2}}}
            {1 + \frac{z^2}{n}} $$

    >>> [round(one, 3) for one in share(np.array([0.0] * 20))], share(np.zeros(0))
    ([0.0, 0.0, 0.161], Interval(mean=0.0, low=0.0, high=0.0))
    """
    if not len(true):
        return Interval(0.0, 0.0, 0.0)
    count, mean = len(true), float(true.mean())
    wide = Z * Z / count
    middle, half = mean + wide / 2, Z * math.sqrt(mean * (1 - mean) / count + wide / (4 * count))
    return Interval(mean, max((middle - half) / (1 + wide), 0.0), min((middle + half) / (1 + wide), 1.0))


def randomisation_test(differences: Array) -> float:
    r"""The chance of a mean difference at least as far from 0 if its signs meant nothing (Fisher's paired test).

    $$ p = \frac{1 + |\{s : |\overline{s \cdot d}| \ge |\bar{d}|\}|}{1 + \text{flips}} $$

    >>> randomisation_test(np.zeros(5)), randomisation_test(np.ones(40)) < 0.001
    (1.0, True)
    """
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(SEED)
    signs = rng.integers(0, 2, (FLIPS, len(moved)), dtype=np.int8) * 2 - 1
    # The same sums differ in their last bits by the order of adding; those are as far as well.
    reached = np.abs(signs @ moved) >= abs(float(moved.sum())) - 1e-9
    return (1 + int(reached.sum())) / (1 + FLIPS)
