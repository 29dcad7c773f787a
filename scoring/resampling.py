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
    drawn = np.random.default_rng(SEED).integers(0, queries, (RESAMPLES, queries))
    drawn += queries * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=RESAMPLES * queries)
    return counts.reshape(RESAMPLES, queries).astype(float)


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


def holm(chances: Array) -> Array:
    r"""The chances of several tests made at once, each raised so that one in twenty such families errs at all.

    $$ \tilde p_{(i)} = \max_{j \le i} \min\left(1, (m - j + 1)\, p_{(j)}\right) $$

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(chances, kind="stable")
    raised = np.empty(len(chances))
    raised[order] = np.minimum(1.0, np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1)))
    return raised


def randomisation_test(differences: Array) -> float:
    r"""The chance of a mean difference at least as far from 0 if its signs meant nothing (Fisher's paired test).

    $$ p = \frac{1 + |\{s : |\overline{s \cdot d}| \ge |\bar{d}|\}|}{1 + \text{flips}} $$

    >>> randomisation_test(np.zeros(5)), randomisation_test(np.ones(40)) < 0.001
    (1.0, True)
    """
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    # Eight signs are one byte, and what it makes of eight differences is looked up among 256 sums.
    eights = np.zeros((-(-len(moved) // 8), 8))
    eights.flat[: len(moved)] = moved
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0
    drawn = np.random.default_rng(SEED).integers(0, 256, (len(eights), FLIPS), dtype=np.uint8)
    flipped = np.zeros(FLIPS)
    for sums, byte in zip(eights @ signs.T, drawn, strict=True):
        flipped += sums[byte]
    # The same sums differ in their last bits by the order of adding; those are as far as well.
    reached = np.abs(flipped) >= abs(float(moved.sum())) - 1e-9
    return (1 + int(reached.sum())) / (1 + FLIPS)
