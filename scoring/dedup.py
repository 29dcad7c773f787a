r"""When two memories are one, and when an entity is no longer what it was."""

import hashlib
import unicodedata
import uuid
from collections.abc import Set
from typing import Literal

import numpy as np

from scoring.term import Array

Band = Literal["duplicate", "escalate", "distinct"]
# What ends, opens or quotes a sentence; a sign such as + # % $ & @ - belongs to the word.
OUTER = ".,;:!?…\"'`()[]{}„“”«»‹›‘’–— "


def normalize(text: str) -> str:
    """One spelling for what differs only in form: NFKC, casefold, white space folded, outer punctuation off.

    Signs that carry meaning stay: C++ is not C#, −5 % is not 5.

    >>> normalize("  Arrive\\tGmbH. "), normalize("“C++”"), normalize("(-5%)")
    ('arrive gmbh', 'c++', '-5%')
    """
    return folded(text).strip(OUTER)


def folded(text: str) -> str:
    """The same with its outer punctuation on."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def content_hash(type: str, subject: str, predicate: str, content: str) -> bytes:
    r"""Tier 1 of deduplication: the same memory in another form has the same hash.

    $$ \text{SHA256}(\text{normalize}(\text{type} \mid \text{subject} \mid \text{predicate} \mid \text{content})) $$

    >>> content_hash("Fact", "Maya", "", "Works at Arrive.") == content_hash("fact", "maya", "", "works  at Arrive")
    True
    """
    # What is nothing but punctuation says what it is.
    parts = (normalize(part) or folded(part) for part in (type, subject, predicate, content))
    return hashlib.sha256("|".join(parts).encode()).digest()


def band(similarity: float, *, duplicate: float, escalate: float) -> Band:
    r"""Tier 2 of deduplication: merge above, ask a judge between, keep both below.

    $$ \text{sim} > 0.92 \Rightarrow \text{duplicate}, \quad 0.85 \le \text{sim} \le 0.92 \Rightarrow \text{escalate} $$

    >>> [band(similarity, duplicate=0.92, escalate=0.85) for similarity in (0.93, 0.92, 0.85, 0.84)]
    ['duplicate', 'escalate', 'escalate', 'distinct']
    """
    if similarity > duplicate:
        return "duplicate"
    return "escalate" if similarity >= escalate else "distinct"


def merged_repetitions(one: int, other: int) -> int:
    r"""Merging is itself an observation.

    $$ n = n_1 + n_2 + 1 $$

    >>> merged_repetitions(0, 0)
    1
    """
    return one + other + 1


def fallback_subject(surface: str) -> uuid.UUID:
    r"""The same unresolved surface form always gives the same identifier.

    $$ \text{uuid5}(\text{NAMESPACE_DNS},\ \text{normalize}(\text{surface})) $$

    >>> fallback_subject("PostgreSQL") == fallback_subject(" postgresql ")
    True
    """
    return uuid.uuid5(uuid.NAMESPACE_DNS, normalize(surface))


def medoid(vectors: Array) -> int:
    r"""The member that stands nearest to all others, and so speaks for them.

    $$ \mathrm{argmax}_i \sum_j \cos(v_i, v_j) $$

    >>> medoid(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))
    1
    """
    return int(np.argmax((vectors @ vectors.T).sum(axis=1)))


def consolidated(vectors: Array, threshold: float) -> list[list[int]]:
    r"""Groups of a subject's memories that can be summarised: each around the one with the most close neighbours.

    $$ \cos(v_i, v_{\text{middle}}) \ge 0.75 $$

    >>> consolidated(np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0]]), 0.75)
    [[0, 1]]
    """
    close = vectors @ vectors.T >= threshold
    left, groups = np.ones(len(vectors), bool), []
    while left.any():
        middle = int(np.argmax(np.where(left, (close & left).sum(axis=1), 0)))
        members = np.flatnonzero(close[middle] & left)
        if len(members) < 2:
            break
        groups.append(members.tolist())
        left[members] = False
    return groups


def drifted(
    before: Array,
    lately: Array,
    relations_before: Set[str],
    relations_lately: Set[str],
    *,
    distance: float,
    overlap: float,
) -> bool:
    r"""An entity has become another thing: its memories moved away and its relations changed.

    $$ 1 - \cos(\bar v_{\text{before}}, \bar v_{\text{lately}}) > 0.4 \ \wedge\
       J(R_{\text{before}}, R_{\text{lately}}) < 0.5 $$

    >>> drifted(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), {"owns"}, {"sold"}, distance=0.4, overlap=0.5)
    True
    """
    return centroid_distance(before, lately) > distance and shared(relations_before, relations_lately) < overlap


def centroid_distance(one: Array, other: Array) -> float:
    """The cosine distance between the means of two groups of vectors."""
    if not len(one) or not len(other):
        return 0.0  # nothing to compare has not moved
    a, b = one.mean(axis=0), other.mean(axis=0)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return 1.0 - float(a @ b) / norm if norm else 1.0


def shared(one: Set[str], other: Set[str]) -> float:
    """The Jaccard overlap of two sets; two empty sets agree."""
    return len(one & other) / len(one | other) if one or other else 1.0
