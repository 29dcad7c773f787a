"""Fuzzy matching of misspelt names."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.fuzz import ratio

# Below five letters one changed letter makes another name; from six on it is a typo.
# The index of pieces grows with the third power of the length, so longer names must be spelt right.
MIN_FUZZY_LENGTH, SHORT_LENGTH, MAX_FUZZY_LENGTH = 5, 8, 32
MIN_RATIO, SHORT_MIN_RATIO = 0.9, 0.92
# Names per matrix: 64 × 10,000 float32 take 2.5 MB.
BATCH_SIZE = 64
DIGITS = re.compile(r"\d+")


def fuzzy_matches(names: Sequence[str], known: Sequence[str]) -> Iterator[dict[int, float]]:
    """For each name, the indexes of known names it may be a misspelling of, with their ratio."""
    for start in range(0, len(names), BATCH_SIZE):
        batch = names[start : start + BATCH_SIZE]
        scores = process.cdist(batch, known, scorer=ratio, score_cutoff=100 * MIN_RATIO, dtype=np.float32)
        for name, row in zip(batch, scores, strict=True):
            ratios = {int(index): float(row[index]) / 100 for index in np.flatnonzero(row)}
            yield {index: score for index, score in ratios.items() if score >= min_ratio(name, known[index])}


def min_ratio(one: str, other: str) -> float:
    """The minimum ratio at which two names match.

    >>> min_ratio("havsfrakt", "havsfract"), min_ratio("kubernetes 1.28", "kubernetes 1.29")
    (0.9, inf)
    """
    shorter, longer = sorted((len(one), len(other)))
    # Version 14 is never a typo of version 15.
    if not MIN_FUZZY_LENGTH <= shorter <= longer <= MAX_FUZZY_LENGTH or DIGITS.findall(one) != DIGITS.findall(other):
        return float("inf")
    return min_ratio_of_length(shorter)


def min_ratio_of_length(length: int) -> float:
    """The minimum ratio where the shorter of two names has this length."""
    return SHORT_MIN_RATIO if length < SHORT_LENGTH else MIN_RATIO
