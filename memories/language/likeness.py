"""Misspelt names."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.fuzz import ratio

# Below five letters one changed letter makes another name; from six on, one letter more or less is a slip.
SHORTEST, SHORT = 5, 8
LIKENESS, SHORT_LIKENESS = 0.9, 0.92
# Names compared at once: a table of 64 by 10,000 takes 2.5 MB.
BATCH = 64
DIGITS = re.compile(r"\d+")


def alike(names: Sequence[str], known: Sequence[str]) -> Iterator[dict[int, float]]:
    """Give, for each name, the places of the known ones it may be a slip of, each with their likeness."""
    for start in range(0, len(names), BATCH):
        batch = names[start : start + BATCH]
        scores = process.cdist(batch, known, scorer=ratio, score_cutoff=100 * LIKENESS, dtype=np.float32)
        for name, row in zip(batch, scores, strict=True):
            near = {int(place): float(row[place]) / 100 for place in np.flatnonzero(row)}
            yield {place: score for place, score in near.items() if score >= least_likeness(name, known[place])}


def least_likeness(one: str, other: str) -> float:
    """Say how alike two names must be to count as one.

    >>> least_likeness("havsfrakt", "havsfract"), least_likeness("kubernetes 1.28", "kubernetes 1.29")
    (0.9, inf)
    """
    length = min(len(one), len(other))
    # Version 14 is never a slip of version 15.
    if length < SHORTEST or DIGITS.findall(one) != DIGITS.findall(other):
        return float("inf")
    return SHORT_LIKENESS if length < SHORT else LIKENESS
