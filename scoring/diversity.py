r"""Diversity: maximal marginal relevance (MMR) and its redundancy measures."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Codes, Mask, Quantity, maximum

WORD_BITS = 64

Vectors: TypeAlias = NDArray[np.floating[Any]]  # compared in single precision, as stored
BitSets: TypeAlias = NDArray[np.uint64]


class Pick(NamedTuple):
    """One step of the greedy selection: the row, its relevance, its redundancy, and the nearest earlier pick."""

    row: int
    relevance: float
    redundancy: float
    nearest: int | None


class Selection(NamedTuple):
    """The picks for several queries, one line per query and one column per step; −1 where no candidate was left."""

    rows: Codes
    relevance: Array
    redundancy: Array
    nearest: Codes

    def picks(self, query: int) -> list[Pick]:
        """The picks for one query; the first has no nearest earlier pick."""
        steps = enumerate(zip(*(column[query].tolist() for column in self), strict=True))
        return [
            Pick(row, relevance, redundancy, nearest if step else None)
            for step, (row, relevance, redundancy, nearest) in steps
            if row >= 0
        ]


def marginal_relevance(relevance: Quantity, redundancy: Quantity | float, balance: Quantity | float) -> Quantity:
    r"""Relevance minus redundancy with the already selected.

    $$ \text{MMR}(m, S) = \lambda \cdot \text{relevance}(m, q) - (1 - \lambda) \cdot \max_{s \in S} \text{sim}(m, s) $$

    >>> marginal_relevance(np.array([1.0, 0.8]), np.array([0.9, 0.1]), 0.7).round(2)
    array([0.43, 0.53])
    """
    return balance * relevance - (1.0 - balance) * redundancy


def redundancy(cosine: Quantity, tag_overlap: Quantity | float, tag_weight: Quantity | float) -> Quantity:
    r"""Redundancy of two memories in memsense.

    $$ \text{redundancy} = \max(\text{cosine},\ 0.35 \cdot \text{Jaccard}(\text{tags})) $$

    >>> redundancy(np.array([0.2, 0.9]), np.array([1.0, 1.0]), 0.35)
    array([0.35, 0.9 ])
    """
    return maximum(cosine, tag_weight * tag_overlap)


def pack_tags(tags: Mask) -> BitSets:
    """Tags as bit sets, compared 64 at a time."""
    padded = np.zeros((len(tags), max(-(-tags.shape[1] // WORD_BITS), 1) * WORD_BITS), bool)
    padded[:, : tags.shape[1]] = tags
    return np.packbits(padded, axis=1).view(np.uint64)


def shared_tags(one: BitSets, other: BitSets) -> Array:
    """The number of tags two memories share.

    >>> shared_tags(pack_tags(np.array([[True, True, False]])), pack_tags(np.array([[True, False, True]])))
    array([1.])
    """
    first, *others = (np.bitwise_count(one[..., word] & other[..., word]) for word in range(one.shape[-1]))
    return np.asarray(sum(others, start=first.astype(float)))


def jaccard(common: Array, ours: Array, theirs: Array) -> Array:
    r"""Jaccard similarity of two tag sets, from the sizes of the intersection and of each set; 0 for two empty sets.

    $$ J(A, B) = \frac{|A \cap B|}{|A \cup B|} $$

    >>> jaccard(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.array([1.0, 0.0]))
    array([0.5, 0. ])
    """
    # The maximum only matters for two empty sets: 0 ÷ 1.
    return np.asarray(common / np.maximum(ours + theirs - common, 1.0))


def mmr(
    relevance: Array,
    vectors: Vectors,
    *,
    balance: float,
    top_k: int,
    tags: BitSets | None = None,
    tag_share: float = 0.0,
    skip_at: float = np.inf,
) -> Selection:
    """Select greedily by MMR, for queries with equally many candidates (at least one), one line per query.

    Ties keep the input order; a candidate as redundant as `skip_at` is never picked.
    """
    queries = np.arange(len(relevance))
    remaining, redundant = np.ones(relevance.shape, bool), np.zeros(relevance.shape)
    nearest = np.full(relevance.shape, -1)
    sizes = None if tags is None else shared_tags(tags, tags)
    steps = []
    for step in range(top_k):
        unfinished = np.asarray(remaining.any(axis=1))
        if not unfinished.any():
            break
        value = np.where(remaining, marginal_relevance(relevance, redundant, balance), -np.inf)
        rows = value.argmax(axis=1)
        picked = queries, rows
        steps.append((np.where(unfinished, rows, -1), relevance[picked], redundant[picked], nearest[picked]))
        if step == top_k - 1:
            break
        remaining[picked] = False
        # vecdot instead of a matrix product: bit-identical for each pair whatever the batch and the position, so that
        # equal memories stay tied.
        similarity = np.vecdot(vectors, vectors[picked][:, None]).astype(float)
        if tags is not None and sizes is not None:
            overlap = jaccard(shared_tags(tags, tags[picked][:, None]), sizes, sizes[picked][:, None])
            similarity = redundancy(similarity, overlap, tag_share)
        closer = similarity > redundant if step else np.ones(redundant.shape, bool)
        redundant, nearest = np.where(closer, similarity, redundant), np.where(closer, rows[:, None], nearest)
        remaining &= redundant < skip_at
    return Selection(*(np.stack(column, axis=1) for column in zip(*steps, strict=True)))
