r"""Several ranked lists become one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Quantity, named, total


def contribution(rank: Quantity, weight: Quantity | float, k: Quantity | float) -> Quantity:
    r"""What one retriever adds to a memory's fused score; an absent rank is infinite and adds nothing.

    $$ \frac{w_i}{k + \text{rank}_i(m)} $$

    >>> contribution(np.array([1.0, 3.0, np.inf]), 1.0, 60.0).round(5)
    array([0.01639, 0.01587, 0.     ])
    """
    return weight / (k + rank)


def rrf(ranks: Mapping[str, Quantity], weights: Mapping[str, Quantity | float], k: Quantity | float) -> Quantity:
    r"""Reciprocal rank fusion: ranks can be compared where scores cannot.

    $$ \text{RRF}(m) = \sum_i \frac{w_i}{k + \text{rank}_i(m)} $$

    >>> ranks = {"semantic": np.array([3.0]), "bm25": np.array([1.0])}
    >>> rrf(ranks, {"semantic": 1.0, "bm25": 1.0}, 60.0).round(6)
    array([0.032266])
    """
    return total(named(contribution(rank, weights[route], k), route) for route, rank in ranks.items())


def ranked(score: Array, cosine: Array, by_id: NDArray[Any], floor: float = 0.0) -> Array:
    r"""Places in a retriever's list: falling score, equal ones by cosine to the query, then id; below the floor, none.

    $$ \text{rank}_i(m) \in \{1, 2, \ldots, \infty\} $$

    >>> ranked(np.array([0.9, 0.5, 0.9, 0.0]), np.array([0.1, 0.3, 0.2, 0.9]), np.arange(4), 0.01)
    array([ 2.,  3.,  1., inf])
    """
    return placed(np.flatnonzero(score >= floor if floor > 0 else score > 0), score, cosine, by_id)


def placed(found: NDArray[np.intp], score: Array, cosine: Array, by_id: NDArray[Any]) -> Array:
    """Places of those that were found, by falling score, then cosine, then id; the others have none."""
    places = np.full(len(score), np.inf)
    places[found[np.lexsort((by_id[found], -cosine[found], -score[found]))]] = np.arange(1, len(found) + 1)
    return places


def spread(k: Array | float, first: int = 1, last: int = 50) -> Array:
    r"""How many times the first rank outweighs the last one looked at.

    $$ \text{spread}(k) = \frac{k + 50}{k + 1} $$

    >>> spread(np.array([10.0, 60.0, 200.0])).round(2)
    array([5.45, 1.8 , 1.24])
    """
    return np.asarray((np.asarray(k) + last) / (np.asarray(k) + first))


def candidate_limit(top_k: int, factor: int, least: int) -> int:
    r"""How many candidates memsense keeps before it looks for diversity.

    $$ \text{limit} = \max(4k,\ 32) $$

    >>> candidate_limit(10, 4, 32)
    40
    """
    return max(top_k * factor, least)


def route_pool(limit: int, widening: int, least: int) -> int:
    r"""How many candidates memsense asks of each route.

    $$ \text{pool} = \max(\max(4k,\ 32) \cdot 2,\ 40) $$

    >>> route_pool(candidate_limit(5, 4, 32), 2, 40)
    64
    """
    return max(limit * widening, least)


def maxsim(query: Array, document: Array, weights: Array, power: float = 1.0) -> float:
    r"""How well each word of a query is met by its best word of a document, rare words first.

    $$ \text{MaxSim}(q, d) = \frac{\sum_i \text{idf}_i \left(\max_j \cos^{+}(q_i, d_j)\right)^p}{\sum_i \text{idf}_i} $$

    >>> round(maxsim(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, 3.0])), 4)
    0.85
    """
    return float(matched(best_words(query, document, np.array([0])), weights, power)[0]) if len(document) else 0.0


def best_words(query: NDArray[Any], words: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[Any]:
    """How well each word of a query is met by the best word of each document; their words follow each other.

    A document begins at its start, and none is empty.

    >>> best_words(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), np.array([0, 2]))
    array([[1. , 0. ],
           [0.8, 1. ]])
    """
    return np.asarray(np.maximum.reduceat(query @ words.T, starts, axis=1))


class Passages(NamedTuple):
    """Texts cut into passages: each is made of two halves, and begins in the middle of the one before it."""

    halves: NDArray[np.intp]  # the word that each half begins with
    first: NDArray[np.intp]  # the halves of each passage
    second: NDArray[np.intp]
    starts: NDArray[np.intp]  # the first passage of each text


def passages(lengths: NDArray[np.intp], words: int) -> Passages:
    """Cut texts into passages of so many words; one that is not longer is a passage of its own.

    >>> cut = passages(np.array([3, 9]), 4)
    >>> cut.halves.tolist(), cut.first.tolist(), cut.second.tolist(), cut.starts.tolist()
    ([0, 2, 3, 5, 7, 9, 11], [0, 2, 3, 4, 5], [1, 3, 4, 5, 6], [0, 1])
    """
    half = words // 2
    counts = -(-lengths // half)
    text = np.repeat(np.arange(len(lengths)), counts)
    place = np.arange(len(text)) - (np.cumsum(counts) - counts)[text]
    last = place == counts[text] - 1
    first = np.flatnonzero(~last | (counts[text] == 1))
    made = np.maximum(counts - 1, 1)
    halves = (np.cumsum(lengths) - lengths)[text] + half * place
    return Passages(halves, first, first + ~last[first], np.cumsum(made) - made)


def matched(best: NDArray[Any], weights: Array, power: float) -> Array:
    """The mean of the best matches of a query's words, one column a document, each word by its weight."""
    return (
        np.asarray(weights @ np.maximum(best, 0.0) ** power / weights.sum())
        if weights.sum()
        else np.zeros(best.shape[1])
    )


def probability(features: Array, coefficients: Array, intercept: float) -> Array:
    r"""The chance that the best hit is relevant, from how well it matched; too low, and an answer abstains.

    $$ P = \frac{1}{1 + e^{-(\beta_0 + \beta \cdot x)}} $$

    >>> probability(np.array([[0.0, 0.0]]), np.array([1.0, 2.0]), 0.0)
    array([0.5])
    """
    # tanh does not overflow where exp would.
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * (intercept + (features * coefficients).sum(axis=-1))))
