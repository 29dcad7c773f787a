r"""Choose results that are relevant and do not say the same thing twice."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Codes, Mask, Quantity, most

WORD = 64  # tags that are compared at once

Vectors: TypeAlias = NDArray[np.floating[Any]]  # compared in single precision, in which they are stored
Words: TypeAlias = NDArray[np.uint64]


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


def packed(tags: Mask) -> Words:
    """Tags as bits, so that those of two memories are compared a word at a time."""
    whole = np.zeros((len(tags), max(-(-tags.shape[1] // WORD), 1) * WORD), bool)
    whole[:, : tags.shape[1]] = tags
    return np.packbits(whole, axis=1).view(np.uint64)


def in_common(one: Words, other: Words) -> Array:
    """How many tags two memories share.

    >>> in_common(packed(np.array([[True, True, False]])), packed(np.array([[True, False, True]])))
    array([1.])
    """
    first, *others = (np.bitwise_count(one[..., word] & other[..., word]) for word in range(one.shape[-1]))
    return np.asarray(sum(others, start=first.astype(float)))


def jaccard(common: Array, ours: Array, theirs: Array) -> Array:
    r"""The share of tags two memories have in common, by how many both and each have; none of two empty sets.

    $$ J(A, B) = \frac{|A \cap B|}{|A \cup B|} $$

    >>> jaccard(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    array([0.5, 0. ])
    """
    # Where both are empty 0 is divided by 1; no other two have fewer than one together.
    return np.asarray(common / np.maximum(ours + theirs - common, 1.0))


def mmr(
    relevance: Array,
    vectors: Vectors,
    *,
    balance: float,
    top_k: int,
    tags: Words | None = None,
    tag_share: float = 0.0,
    skip_at: float = np.inf,
) -> Selection:
    """Pick greedily for queries of as many candidates each, at least one; a row a query.

    Equal candidates keep their order; one as redundant as `skip_at` is never picked.
    """
    queries = np.arange(len(relevance))
    left, worst = np.ones(relevance.shape, bool), np.zeros(relevance.shape)
    nearest = np.full(relevance.shape, -1)
    sizes = None if tags is None else in_common(tags, tags)
    turns = []
    for turn in range(top_k):
        open = np.asarray(left.any(axis=1))
        if not open.any():
            break
        value = np.where(left, marginal_relevance(relevance, worst, balance), -np.inf)
        rows = value.argmax(axis=1)
        at = queries, rows
        turns.append((np.where(open, rows, -1), relevance[at], worst[at], nearest[at]))
        if turn == top_k - 1:
            break
        left[at] = False
        # A product for each two, whoever stands beside them: the same to the last bit alone and among others, and in
        # whichever place, so that equal memories stay equal.
        alike = np.vecdot(vectors, vectors[at][:, None]).astype(float)
        if tags is not None and sizes is not None:
            overlap = jaccard(in_common(tags, tags[at][:, None]), sizes, sizes[at][:, None])
            alike = redundancy(alike, overlap, tag_share)
        closer = alike > worst if turn else np.ones(worst.shape, bool)
        worst, nearest = np.where(closer, alike, worst), np.where(closer, rows[:, None], nearest)
        left &= worst < skip_at
    return Selection(*(np.stack(side, axis=1) for side in zip(*turns, strict=True)))
