r"""Rank fusion, MaxSim reranking and the logistic of abstention."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Quantity, name_quantity, total


def rrf_contribution(rank: Quantity, weight: Quantity | float, k: Quantity | float) -> Quantity:
    r"""RRF contribution of one retriever; an absent rank is infinite and contributes 0.

    $$ \frac{w_i}{k + \text{rank}_i(m)} $$

    >>> rrf_contribution(np.array([1.0, 3.0, np.inf]), 1.0, 60.0).round(5)
    array([0.01639, 0.01587, 0.     ])
    """
    return weight / (k + rank)


def rrf(ranks: Mapping[str, Quantity], weights: Mapping[str, Quantity | float], k: Quantity | float) -> Quantity:
    r"""Reciprocal rank fusion: combines lists whose scores are not comparable.

    $$ \text{RRF}(m) = \sum_i \frac{w_i}{k + \text{rank}_i(m)} $$

    >>> ranks = {"semantic": np.array([3.0]), "bm25": np.array([1.0])}
    >>> rrf(ranks, {"semantic": 1.0, "bm25": 1.0}, 60.0).round(6)
    array([0.032266])
    """
    return total(
        name_quantity(rrf_contribution(rank, weights[retriever], k), retriever) for retriever, rank in ranks.items()
    )


def retriever_ranks(score: Array, cosine: Array, by_id: NDArray[Any], floor: float = 0.0) -> Array:
    r"""Ranks by descending score, ties by cosine, then id; infinite below the floor.

    $$ \text{rank}_i(m) \in \{1, 2, \ldots, \infty\} $$

    >>> retriever_ranks(np.array([0.9, 0.5, 0.9, 0.0]), np.array([0.1, 0.3, 0.2, 0.9]), np.arange(4), 0.01)
    array([ 2.,  3.,  1., inf])
    """
    return rank_rows(np.flatnonzero(score >= floor if floor > 0 else score > 0), score, cosine, by_id)


def rank_rows(rows: NDArray[np.intp], score: Array, cosine: Array, by_id: NDArray[Any]) -> Array:
    """Ranks of the found rows by descending score, cosine and id; infinite for the others."""
    ranks = np.full(len(score), np.inf)
    ranks[rows[np.lexsort((by_id[rows], -cosine[rows], -score[rows]))]] = np.arange(1, len(rows) + 1)
    return ranks


def rank_spread(k: Array | float, first: int = 1, last: int = 50) -> Array:
    r"""Ratio of the contributions of the first and the last rank.

    $$ \text{spread}(k) = \frac{k + 50}{k + 1} $$

    >>> rank_spread(np.array([10.0, 60.0, 200.0])).round(2)
    array([5.45, 1.8 , 1.24])
    """
    return np.asarray((np.asarray(k) + last) / (np.asarray(k) + first))


def candidate_limit(top_k: int, factor: int, minimum: int) -> int:
    r"""Candidates that memsense passes to MMR.

    $$ \text{limit} = \max(4k,\ 32) $$

    >>> candidate_limit(10, 4, 32)
    40
    """
    return max(top_k * factor, minimum)


def retriever_pool(limit: int, widening: int, minimum: int) -> int:
    r"""Candidates that memsense fetches per retriever.

    $$ \text{pool} = \max(\max(4k,\ 32) \cdot 2,\ 40) $$

    >>> retriever_pool(candidate_limit(5, 4, 32), 2, 40)
    64
    """
    return max(limit * widening, minimum)


def maxsim(query: Array, document: Array, weights: Array, power: float = 1.0) -> float:
    r"""Late interaction: the best-matching document token for each query token, weighted by idf.

    $$ \text{MaxSim}(q, d) = \frac{\sum_i \text{idf}_i \left(\max_j \cos^{+}(q_i, d_j)\right)^p}{\sum_i \text{idf}_i} $$

    >>> round(maxsim(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, 3.0])), 4)
    0.85
    """
    return (
        float(weighted_match(best_token_matches(query, document, np.array([0])), weights, power)[0])
        if len(document)
        else 0.0
    )


def best_token_matches(query: NDArray[Any], tokens: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[Any]:
    """Similarity of each query token to the best token of each document; one row per query token.

    Documents' tokens are concatenated, each document beginning at its offset in `starts`; none may be empty.

    >>> best_token_matches(np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), np.array([0, 2]))
    array([[1. , 0. ],
           [0.8, 1. ]])
    """
    return np.asarray(np.maximum.reduceat(query @ tokens.T, starts, axis=1))


class Passages(NamedTuple):
    """Texts split into passages that overlap by half."""

    halves: NDArray[np.intp]  # token offset of each half
    first: NDArray[np.intp]  # index of each passage's first half
    second: NDArray[np.intp]  # and of its second
    starts: NDArray[np.intp]  # index of the first passage of each text


def split_passages(lengths: NDArray[np.intp], size: int) -> Passages:
    """Split texts into passages of `size` tokens; a shorter text is one passage.

    >>> passages = split_passages(np.array([3, 9]), 4)
    >>> [array.tolist() for array in passages]
    [[0, 2, 3, 5, 7, 9, 11], [0, 2, 3, 4, 5], [1, 3, 4, 5, 6], [0, 1]]
    """
    half = size // 2
    counts = -(-lengths // half)
    text = np.repeat(np.arange(len(lengths)), counts)
    index = np.arange(len(text)) - (np.cumsum(counts) - counts)[text]
    last = index == counts[text] - 1
    first = np.flatnonzero(~last | (counts[text] == 1))
    passage_counts = np.maximum(counts - 1, 1)
    halves = (np.cumsum(lengths) - lengths)[text] + half * index
    return Passages(halves, first, first + ~last[first], np.cumsum(passage_counts) - passage_counts)


def weighted_match(best: NDArray[Any], weights: Array, power: float) -> Array:
    """Weighted mean of the best matches over the query's tokens, per document."""
    return (
        np.asarray(weights @ np.maximum(best, 0.0) ** power / weights.sum())
        if weights.sum()
        else np.zeros(best.shape[1])
    )


def logistic_probability(features: Array, coefficients: Array, intercept: float) -> Array:
    r"""Logistic regression: probability that the best hit is relevant.

    $$ P = \frac{1}{1 + e^{-(\beta_0 + \beta \cdot x)}} $$

    >>> logistic_probability(np.array([[0.0, 0.0]]), np.array([1.0, 2.0]), 0.0)
    array([0.5])
    """
    # tanh does not overflow, exp would.
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * (intercept + (features * coefficients).sum(axis=-1))))
