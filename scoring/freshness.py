r"""Freshness, recency, usage and expiry of memories.

Ages and half-lives share a unit. A negative age (clock skew) counts as zero.
"""

import math

import numpy as np

from scoring.term import Array, Quantity, exp, exp2, ln, maximum, minimum

MIN_WINDOW_WIDTH = 1e-6  # of a window that is a single timestamp, in the unit of the timestamps


def exponential_freshness(age: Quantity, half_life: Quantity | float) -> Quantity:
    r"""Exponential freshness: halves every half-life.

    $$ \text{freshness}(t) = 2^{-t/\tau} $$

    >>> exponential_freshness(np.array([0.0, 90.0, 180.0]), 90.0)
    array([1.  , 0.5 , 0.25])
    """
    return exp2(-(maximum(age, 0.0) / half_life))


def effective_freshness(age: Quantity, half_life: Quantity | float, floor: Quantity | float) -> Quantity:
    r"""Freshness with a floor, so that old memories stay retrievable.

    $$ \text{effective_freshness} = \max\left(2^{-t/\tau},\ \text{floor}\right) $$

    >>> effective_freshness(np.array([90.0, 1825.0]), 90.0, 0.1)
    array([0.5, 0.1])
    """
    return maximum(exponential_freshness(age, half_life), floor)


def access_boost(count: Quantity) -> Quantity:
    r"""Logarithmic boost for memories that were retrieved before.

    $$ \text{access_boost}(m) = 1 + \ln(1 + \text{access_count}) $$

    >>> access_boost(np.array([0.0, 4.0, 10.0])).round(4)
    array([1.    , 2.6094, 3.3979])
    """
    return 1.0 + ln(1.0 + count)


def recency(hours: Quantity, half_life: Quantity | float) -> Quantity:
    r"""Recency in memorysync; the half-life depends on the query's intent.

    $$ \text{recency} = e^{-h \ln 2 / h_{1/2}} $$

    >>> recency(np.array([0.0, 72.0]), 72.0)
    array([1. , 0.5])
    """
    return exp(-(maximum(hours, 0.0) * math.log(2) / half_life))


def exponential_decay(hours: Quantity, alpha: Quantity | float) -> Quantity:
    r"""Recency in contextdb: exponential decay at rate α per hour.

    $$ \text{recency} = e^{-\alpha \cdot \text{age_hours}} $$

    >>> exponential_decay(np.array([0.0, 34.7]), 0.02).round(3)
    array([1. , 0.5])
    """
    return exp(-(maximum(hours, 0.0) * alpha))


def half_life_of(alpha: Array | float) -> Array:
    r"""Half-life in hours of a decay rate α per hour.

    $$ h_{1/2} = \frac{\ln 2}{\alpha} $$

    >>> half_life_of(0.08).round(1)
    np.float64(8.7)
    """
    return np.asarray(np.log(2) / np.asarray(alpha))


def expiry(hours_left: Quantity, rate: Quantity | float) -> Quantity:
    r"""Confidence factor of a fact that will expire; 1 without an expiry (infinity).

    $$ \text{kept} = 1 - e^{-0.02 \cdot \text{hours_until_expiry}} $$

    >>> expiry(np.array([48.0, np.inf]), 0.02).round(3)
    array([0.617, 1.   ])
    """
    return 1.0 - exp(-(maximum(hours_left, 0.0) * rate))


def usage(count: Quantity, ceiling: Quantity | float) -> Quantity:
    r"""Usage in memorysync: log-scaled access count, at most 1.

    $$ \text{usage} = \min\left(1,\ \frac{\ln(1 + n)}{5}\right) $$

    >>> usage(np.array([0.0, 5.0, 1000.0]), 5.0).round(3)
    array([0.   , 0.358, 1.   ])
    """
    return minimum(ln(1.0 + count) / ceiling, 1.0)


def proximity(distance: Quantity, sigma: Quantity | float) -> Quantity:
    r"""Gaussian proximity to the query's time window; distance in half-widths of the window.

    $$ \text{proximity} = e^{-\Delta^2 / (2\sigma^2)} $$

    >>> proximity(np.array([0.0, 1.0, 2.0]), 1.0).round(4)
    array([1.    , 0.6065, 0.1353])
    """
    return exp(-(distance * distance / (2.0 * sigma * sigma)))


def window_distance(timestamp: Array, start: float, end: float) -> Array:
    r"""Distance of a timestamp to the query's time window, in half-widths of the window; 0 inside.

    $$ \Delta = \frac{\max(\text{start} - t,\ t - \text{end},\ 0)}{(\text{end} - \text{start})/2} $$

    >>> window_distance(np.array([5.0, 10.0, 14.0]), 8.0, 12.0)
    array([1.5, 0. , 1. ])
    """
    outside = np.maximum(np.maximum(start - timestamp, timestamp - end), 0.0)
    return np.asarray(outside / max((end - start) / 2.0, MIN_WINDOW_WIDTH))
