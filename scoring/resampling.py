r"""Confidence intervals and significance tests over queries; deterministic."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scoring.term import Array

RESAMPLES = 1_000
FLIPS = 10_000
SEED = 20_011
Z_95 = 1.959964  # standard errors to either side, for 95 %


class Interval(NamedTuple):
    """A mean with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@lru_cache(maxsize=16)
def _resample_counts(queries: int) -> Array:
    """Counts of each query in each bootstrap resample."""
    samples = np.random.default_rng(SEED).integers(0, queries, (RESAMPLES, queries))
    samples += queries * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(samples.ravel(), minlength=RESAMPLES * queries)
    return counts.reshape(RESAMPLES, queries).astype(float)


def bootstrap(values: Array) -> list[Interval]:
    r"""Mean of each column over queries with a percentile bootstrap interval.

    $$ \bar{x} \in \left[q_{.025}(\bar{x}^{*}),\ q_{.975}(\bar{x}^{*})\right] $$

    >>> bootstrap(np.array([[1.0], [1.0]]))
    [Interval(mean=1.0, low=1.0, high=1.0)]
    """
    if not len(values):
        return [Interval(0.0, 0.0, 0.0)] * values.shape[1]
    means = _resample_counts(len(values)) @ values / len(values)
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return [Interval(*map(float, bounds)) for bounds in zip(values.mean(axis=0), low, high, strict=True)]


def wilson_interval(outcomes: Array) -> Interval:
    r"""A proportion with its Wilson score interval, which stays informative at 0 and 1.

    $$ \frac{\hat{p} + \frac{z^2}{2n} \pm z \sqrt{\frac{\hat{p}(1 - \hat{p})}{n} + \frac{z^2}{4n^2}}}
            {1 + \frac{z^2}{n}} $$

    >>> [round(bound, 3) for bound in wilson_interval(np.array([0.0] * 20))], wilson_interval(np.zeros(0))
    ([0.0, 0.0, 0.161], Interval(mean=0.0, low=0.0, high=0.0))
    """
    if not len(outcomes):
        return Interval(0.0, 0.0, 0.0)
    count, mean = len(outcomes), float(outcomes.mean())
    width = Z_95 * Z_95 / count
    middle, half = mean + width / 2, Z_95 * math.sqrt(mean * (1 - mean) / count + width / (4 * count))
    return Interval(mean, max((middle - half) / (1 + width), 0.0), min((middle + half) / (1 + width), 1.0))


def holm(p_values: Array) -> Array:
    r"""Holm–Bonferroni adjustment of p-values for multiple tests.

    $$ \tilde p_{(i)} = \max_{j \le i} \min\left(1, (m - j + 1)\, p_{(j)}\right) $$

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)))
    return adjusted


def randomisation_test(differences: Array) -> float:
    r"""Two-sided p-value of a paired difference, by Fisher's randomisation test over random signs.

    $$ p = \frac{1 + |\{s : |\overline{s \cdot d}| \ge |\bar{d}|\}|}{1 + \text{flips}} $$

    >>> randomisation_test(np.zeros(5)), randomisation_test(np.ones(40)) < 0.001
    (1.0, True)
    """
    changed = differences[differences != 0]
    if not len(changed):
        return 1.0
    # Eight signs per random byte: the signed sums of eight differences come from a table of 256.
    blocks = np.zeros((-(-len(changed) // 8), 8))
    blocks.flat[: len(changed)] = changed
    signs = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1.0
    samples = np.random.default_rng(SEED).integers(0, 256, (len(blocks), FLIPS), dtype=np.uint8)
    flipped = np.zeros(FLIPS)
    for sums, byte in zip(blocks @ signs.T, samples, strict=True):
        flipped += sums[byte]
    # Tolerance for rounding: equal sums may differ in the last bits.
    extreme = np.abs(flipped) >= abs(float(changed.sum())) - 1e-9
    return (1 + int(extreme.sum())) / (1 + FLIPS)
