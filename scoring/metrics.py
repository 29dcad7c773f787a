r"""Ranking metrics, and agreement of two rankings.

Rankings of several queries are one matrix of grades, a row per query and a column per rank, padded with 0. `ideal`
holds the grades of all judged memories of the query, best first.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from scoring.term import Array


def _discounts(ranks: int) -> Array:
    return np.asarray(1.0 / np.log2(np.arange(2, ranks + 2)))


def dcg(grades: Array, at: int) -> Array:
    r"""Discounted cumulative gain.

    $$ \text{DCG@}k = \sum_{i=1}^{k} \frac{2^{g_i} - 1}{\log_2(i + 1)} $$

    >>> dcg(np.array([[3.0, 0.0, 1.0]]), 10)
    array([7.5])
    """
    top = grades[:, :at]
    return np.asarray((np.exp2(top) - 1.0) @ _discounts(top.shape[1]))


def ndcg(grades: Array, ideal: Array, at: int) -> Array:
    r"""DCG normalised by the ideal order; 0 for a query without relevant memories.

    $$ \text{nDCG@}k = \frac{\text{DCG@}k}{\text{IDCG@}k} $$

    >>> ndcg(np.array([[0.0, 3.0]]), np.array([[3.0, 0.0]]), 10).round(4)
    array([0.6309])
    """
    return _ratio(dcg(grades, at), dcg(ideal, at))


def recall_at_k(grades: Array, ideal: Array, at: int) -> Array:
    r"""Share of the relevant memories in the top k.

    $$ \text{Recall@}k = \frac{|\text{relevant} \cap \text{top } k|}{|\text{relevant}|} $$

    >>> recall_at_k(np.array([[0.0, 1.0, 2.0]]), np.array([[2.0, 1.0, 1.0]]), 2).round(3)
    array([0.333])
    """
    return _ratio((grades[:, :at] > 0).sum(axis=1), (ideal > 0).sum(axis=1))


def reciprocal_rank(grades: Array) -> Array:
    r"""Reciprocal rank of the first relevant memory; its mean is MRR.

    $$ \text{RR} = \frac{1}{\min\{i : g_i > 0\}} $$

    >>> reciprocal_rank(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([0.5, 0. ])
    """
    hit = grades > 0
    return (
        np.where(hit.any(axis=1), 1.0 / (hit.argmax(axis=1) + 1.0), 0.0) if grades.shape[1] else np.zeros(len(grades))
    )


def average_precision(grades: Array, ideal: Array) -> Array:
    r"""Mean precision at the ranks of the relevant memories; its mean is MAP.

    $$ \text{AP} = \frac{1}{|\text{relevant}|} \sum_{i : g_i > 0} \text{Precision@}i $$

    >>> average_precision(np.array([[1.0, 0.0, 1.0]]), np.array([[1.0, 1.0]])).round(4)
    array([0.8333])
    """
    hit = grades > 0
    precision = np.cumsum(hit, axis=1) / np.arange(1, grades.shape[1] + 1)
    return _ratio((precision * hit).sum(axis=1), (ideal > 0).sum(axis=1))


def kendall_tau(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    r"""Rank correlation of the shared items, from −1 to 1; None without a shared pair.

    $$ \tau = \frac{\text{concordant} - \text{discordant}}{\binom{n}{2}} $$

    >>> kendall_tau("abc", "acb")
    0.3333333333333333
    """
    ranks = {item: rank for rank, item in enumerate(other)}
    shared = np.array([ranks[item] for item in one if item in ranks])
    pairs = len(shared) * (len(shared) - 1) // 2
    if not pairs:
        return None
    signs = np.triu(np.sign(shared[None, :] - shared[:, None]), 1)
    return float(signs.sum()) / pairs


def rank_biased_overlap(one: Sequence[Hashable], other: Sequence[Hashable], persistence: float) -> float:
    r"""Top-weighted overlap of two rankings, extrapolated (RBO-ext).

    $$ \text{RBO} = \frac{X_k}{k} p^k + \frac{1 - p}{p} \sum_{d=1}^{k} \frac{X_d}{d} p^d $$

    >>> round(rank_biased_overlap("abc", "abc", 0.9), 6), rank_biased_overlap("abc", "xyz", 0.9)
    (1.0, 0.0)
    """
    short, long = sorted((list(one), list(other)), key=len)
    if not short:
        return 1.0 if not long else 0.0
    p, s = persistence, len(short)
    overlap = [len(set(short[:d]) & set(long[:d])) for d in range(1, len(long) + 1)]
    agreed = sum(x / d * p**d for d, x in enumerate(overlap, start=1))
    beyond = sum(overlap[s - 1] * (d - s) / (s * d) * p**d for d in range(s + 1, len(long) + 1))
    tail = (overlap[-1] - overlap[s - 1]) / len(long) + overlap[s - 1] / s
    return (1 - p) / p * (agreed + beyond) + tail * p ** len(long)


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
