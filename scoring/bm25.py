r"""BM25: lexical matching by index terms."""

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array, Quantity, ln

# The paper's Postgres ranking: ts_rank_cd with this normalisation flag and these tsvector weights.
TS_RANK_NORMALIZATION = 32
TS_WEIGHTS = {"content": "A", "predicate": "B"}


def idf(documents: Quantity | float, containing: Quantity) -> Quantity:
    r"""Inverse document frequency; never negative.

    $$ \text{IDF}(q_i) = \ln\left(\frac{N - n(q_i) + 0.5}{n(q_i) + 0.5} + 1\right) $$

    >>> idf(400.0, np.array([1.0, 20.0, 200.0])).round(3)
    array([5.588, 2.974, 0.693])
    """
    return ln((documents - containing + 0.5) / (containing + 0.5) + 1.0)


def saturation(frequency: Array, length: Array | float, average_length: float, k1: float, b: float) -> Array:
    r"""Term frequency saturation with length normalisation.

    $$ \text{tf}(q_i, D) =
       \frac{f(q_i, D)\,(k_1 + 1)}{f(q_i, D) + k_1\left(1 - b + b\,\frac{|D|}{\text{avgdl}}\right)} $$

    >>> saturation(np.array([0.0, 1.0, 5.0, 10.0]), 10.0, 10.0, 1.2, 0.75).round(3)
    array([0.   , 1.   , 1.774, 1.964])
    """
    length_norm = k1 * (1.0 - b + b * np.asarray(length) / (average_length or 1.0))
    numerator, denominator = np.broadcast_arrays(frequency * (k1 + 1.0), frequency + length_norm)
    # A term that does not occur adds 0; with k1 = 0 the quotient would be 0 ÷ 0.
    return np.asarray(np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=numerator > 0))


# Scores of terms are summed in integers of this unit, so that a sum depends neither on its order nor on rounding.
UNIT = 2**30


def score_postings(
    documents: NDArray[np.int64],
    frequencies: Array,
    lengths: Array,
    idfs: Array,
    *,
    average_length: float,
    k1: float,
    b: float,
) -> tuple[NDArray[np.int64], Array]:
    r"""Score the documents of some postings, each of one term in one document; the documents come in their order.

    $$ \text{BM25}(D, Q) = \sum_i \text{IDF}(q_i) \cdot
       \frac{f(q_i, D)\,(k_1 + 1)}{f(q_i, D) + k_1\left(1 - b + b\,\frac{|D|}{\text{avgdl}}\right)} $$

    >>> found, scores = score_postings(
    ...     np.array([7, 2, 7]), np.array([1.0, 1.0, 2.0]), np.array([12.0, 8.0, 12.0]),
    ...     np.array([1.482, 1.482, 1.992]), average_length=10, k1=1.2, b=0.75)
    >>> found, scores.round(3)
    (array([2, 7]), array([1.614, 3.963]))
    """
    units = np.rint(UNIT * idfs * saturation(frequencies, lengths, average_length, k1, b))
    order = np.argsort(documents, kind="stable")  # a merge of sorted runs, one per term
    ordered = documents[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-np.inf))
    return ordered[first], np.add.reduceat(units[order], first) / UNIT if len(first) else units


def bm25(
    frequencies: Array,
    lengths: Array,
    containing: Array,
    *,
    documents: float,
    average_length: float,
    k1: float,
    b: float,
) -> Array:
    r"""Score documents (rows) for the terms of a query (columns).

    $$ \text{BM25}(D, Q) = \sum_i \text{IDF}(q_i) \cdot
       \frac{f(q_i, D)\,(k_1 + 1)}{f(q_i, D) + k_1\left(1 - b + b\,\frac{|D|}{\text{avgdl}}\right)} $$

    >>> bm25(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([8.0, 12.0]), np.array([2.0, 1.0]),
    ...      documents=10, average_length=10, k1=1.2, b=0.75).round(3)
    array([1.614, 3.963])
    """
    saturated = saturation(frequencies, lengths[:, None], average_length, k1, b)
    return np.asarray(saturated @ idf(documents, containing))
