r"""Choose results that are relevant and do not say the same thing twice."""

from typing import NamedTuple

import numpy as np

from scoring.term import Array, Codes, Mask, Quantity, most


class Pick(NamedTuple):
    """One choice of the greedy selection: whom, how relevant, how redundant, and to which earlier choice."""

    row: int
    relevance: float
    redundancy: float
    nearest: int | None


class Selection(NamedTuple):
    """The choices for several queries, a row a query and a column a turn; −1 where nobody was left to choose."""

    rows: Codes
    relevance: Array
    redundancy: Array
    nearest: Codes

    def picks(self, query: int) -> list[Pick]:
        """The choices for one query; the first has nobody before it."""
        told = enumerate(zip(*(side[query].tolist() for side in self), strict=True))
        return [
            Pick(row, relevance, redundancy, nearest if turn else None)
            for turn, (row, relevance, redundancy, nearest) in told
            if row >= 0
        ]


def marginal_relevance(relevance: Quantity, redundancy: Quantity | float, balance: Quantity | float) -> Quantity:
    r"""Relevance against redundancy with what is already selected.

    $$ \text{MMR}(m, S) = \lambda \cdot \text{relevance}(m, q) - (1 - \lambda) \cdot \max_{s \in S} \text{sim}(m, s) $$

    >>> marginal_relevance(np.array([1.0, 0.8]), np.array([0.9, 0.1]), 0.7).round(2)
    array([0.43, 0.53])
    """
    return balance * relevance - (1.0 - balance) * redundancy


def redundancy(cosine: Quantity, tag_overlap: Quantity | float, share: Quantity | float) -> Quantity:
    r"""How much two memories of memsense repeat each other.

    $$ \text{redundancy} = \max(\text{cosine},\ 0.35 \cdot \text{Jaccard}(\text{tags})) $$

    >>> redundancy(np.array([0.2, 0.9]), np.array([1.0, 1.0]), 0.35)
    array([0.35, 0.9 ])
    """
    return most(cosine, share * tag_overlap)


def jaccard(one: Mask, many: Mask) -> Array:
    r"""The share of tags two memories have in common; none of two empty sets.

    $$ J(A, B) = \frac{|A \cap B|}{|A \cup B|} $$

    >>> jaccard(np.array([True, True, False]), np.array([[True, False, False], [False, False, False]]))
    array([0.5, 0. ])
    """
    ours, theirs = one.astype(float), many.astype(float)
    common = (theirs @ ours[..., None])[..., 0]
    together = theirs @ np.ones(one.shape[-1]) + ours.sum(axis=-1)[..., None] - common
    return np.asarray(np.divide(common, together, out=np.zeros(together.shape), where=together > 0))


def mmr(
    relevance: Array,
    vectors: Array,
    *,
    balance: float,
    top_k: int,
    tags: Mask | None = None,
    tag_share: float = 0.0,
    skip_at: float = np.inf,
) -> Selection:
    """Pick greedily for queries of as many candidates each, at least one; a row a query.

    Equal candidates keep their order; one as redundant as `skip_at` is never picked.
    """
    queries = np.arange(len(relevance))
    left, worst = np.ones(relevance.shape, bool), np.zeros(relevance.shape)
    nearest = np.full(relevance.shape, -1)
    turns = []
    for turn in range(top_k):
        open = np.asarray(left.any(axis=1))
        if not open.any():
            break
        value = np.where(left, marginal_relevance(relevance, worst, balance), -np.inf)
        rows = value.argmax(axis=1)
        at = queries, rows
        turns.append((np.where(open, rows, -1), relevance[at], worst[at], nearest[at]))
        left[at] = False
        # One product for each query, whoever stands beside it: so the same to the last bit alone and among others.
        alike = np.matmul(vectors, vectors[at][:, :, None])[:, :, 0]
        if tags is not None:
            alike = redundancy(alike, jaccard(tags[at], tags), tag_share)
        closer = alike > worst if turn else np.ones(worst.shape, bool)
        worst, nearest = np.where(closer, alike, worst), np.where(closer, rows[:, None], nearest)
        left &= worst < skip_at
    return Selection(*(np.stack(side, axis=1) for side in zip(*turns, strict=True)))
