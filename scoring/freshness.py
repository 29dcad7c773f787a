r"""How much of a memory's pull is left after a time, and what use and expiry do to it.

Ages and half-lives share a unit. A negative age (clock skew) counts as zero.
"""

import math

import numpy as np

from scoring.term import Array, Quantity, exp, exp2, least, ln, most

LEAST_WIDTH = 1e-6  # of a window that is a single moment, in the unit of the moments


def freshness(age: Quantity, half_life: Quantity | float) -> Quantity:
    r"""Halve the signal every half-life.

    $$ \text{freshness}(t) = 2^{-t/\tau} $$

    >>> freshness(np.array([0.0, 90.0, 180.0]), 90.0)
    array([1.  , 0.5 , 0.25])
    """
    return exp2(-(most(age, 0.0) / half_life))


def effective_freshness(age: Quantity, half_life: Quantity | float, floor: Quantity | float) -> Quantity:
    r"""Keep ancient memories reachable: freshness never falls below the floor.

    $$ \text{effective_freshness} = \max\left(2^{-t/\tau},\ \text{floor}\right) $$

    >>> effective_freshness(np.array([90.0, 1825.0]), 90.0, 0.1)
    array([0.5, 0.1])
    """
    return most(freshness(age, half_life), floor)


def access_boost(count: Quantity) -> Quantity:
    r"""Retrieval is itself a sign of relevance, with diminishing returns.

    $$ \text{access_boost}(m) = 1 + \ln(1 + \text{access_count}) $$

    >>> access_boost(np.array([0.0, 4.0, 10.0])).round(4)
    array([1.    , 2.6094, 3.3979])
    """
    return 1.0 + ln(1.0 + count)


def recency(hours: Quantity, half_life: Quantity | float) -> Quantity:
    r"""Recency of memorysync: the half-life depends on the intent of the query.

    $$ \text{recency} = e^{-h \ln 2 / h_{1/2}} $$

    >>> recency(np.array([0.0, 72.0]), 72.0)
    array([1. , 0.5])
    """
    return exp(-(most(hours, 0.0) * math.log(2) / half_life))


def decay(hours: Quantity, alpha: Quantity | float) -> Quantity:
    r"""Recency of contextdb: fade at a rate of α an hour.

    $$ \text{recency} = e^{-\alpha \cdot \text{age_hours}} $$

    >>> decay(np.array([0.0, 34.7]), 0.02).round(3)
    array([1. , 0.5])
    """
    return exp(-(most(hours, 0.0) * alpha))


def half_life_of(alpha: Array | float) -> Array:
    r"""The hours in which a rate of α an hour halves the signal.

    $$ h_{1/2} = \frac{\ln 2}{\alpha} $$

    >>> half_life_of(0.08).round(1)
    np.float64(8.7)
    """
    return np.asarray(np.log(2) / np.asarray(alpha))


def expiry(hours_left: Quantity, rate: Quantity | float) -> Quantity:
    r"""What remains of the confidence of a fact that will expire; infinity, an evergreen, keeps all of it.

    $$ \text{kept} = 1 - e^{-0.02 \cdot \text{hours_until_expiry}} $$

    >>> expiry(np.array([48.0, np.inf]), 0.02).round(3)
    array([0.617, 1.   ])
    """
    return 1.0 - exp(-(most(hours_left, 0.0) * rate))


def usage(count: Quantity, ceiling: Quantity | float) -> Quantity:
    r"""Usage of memorysync: the log keeps a thousand recalls from drowning five.

    $$ \text{usage} = \min\left(1,\ \frac{\ln(1 + n)}{5}\right) $$

    >>> usage(np.array([0.0, 5.0, 1000.0]), 5.0).round(3)
    array([0.   , 0.358, 1.   ])
    """
    return least(ln(1.0 + count) / ceiling, 1.0)


def proximity(distance: Quantity, sigma: Quantity | float) -> Quantity:
    r"""How near an event lies to the query's window, in half-widths of that window.

    $$ \text{proximity} = e^{-\Delta^2 / (2\sigma^2)} $$

    >>> proximity(np.array([0.0, 1.0, 2.0]), 1.0).round(4)
    array([1.    , 0.6065, 0.1353])
    """
    return exp(-(distance * distance / (2.0 * sigma * sigma)))


def window_distance(moment: Array, start: float, end: float) -> Array:
    r"""How far a moment lies outside the query's window, in half-widths of it; within, nothing.

    $$ \Delta = \frac{\max(\text{start} - t,\ t - \text{end},\ 0)}{(\text{end} - \text{start})/2} $$

    >>> window_distance(np.array([5.0, 10.0, 14.0]), 8.0, 12.0)
    array([1.5, 0. , 1. ])
    """
    outside = np.maximum(np.maximum(start - moment, moment - end), 0.0)
    return np.asarray(outside / max((end - start) / 2.0, LEAST_WIDTH))
