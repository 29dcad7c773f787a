r"""Deduplication, consolidation and concept drift."""

import hashlib
import unicodedata
import uuid
from collections.abc import Set
from typing import Literal

import numpy as np

from scoring.term import Array

Band = Literal["duplicate", "escalate", "distinct"]
# Sentence punctuation and quotes; + # % $ & @ - belong to the word.
OUTER_PUNCTUATION = ".,;:!?…\"'`()[]{}„“”«»‹›‘’–— "


def normalize(text: str) -> str:
    """Canonical form: NFKC, case-folded, whitespace collapsed, outer punctuation stripped.

    Symbols with meaning stay: C++ is not C#, −5 % is not 5.

    >>> normalize("  Arrive\\tGmbH. "), normalize("“C++”"), normalize("(-5%)")
    ('arrive gmbh', 'c++', '-5%')
    """
    return casefold_text(text).strip(OUTER_PUNCTUATION)


def casefold_text(text: str) -> str:
    """The canonical form with outer punctuation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def content_hash(type: str, subject: str, predicate: str, content: str) -> bytes:
    r"""Tier 1: exact duplicates in canonical form have the same hash.

    $$ \text{SHA256}(\text{normalize}(\text{type} \mid \text{subject} \mid \text{predicate} \mid \text{content})) $$

    >>> content_hash("Fact", "Maya", "", "Works at Arrive.") == content_hash("fact", "maya", "", "works  at Arrive")
    True
    """
    # A text of punctuation only would normalise to nothing.
    parts = (normalize(part) or casefold_text(part) for part in (type, subject, predicate, content))
    return hashlib.sha256("|".join(parts).encode()).digest()


def similarity_band(similarity: float, *, duplicate: float, escalate: float) -> Band:
    r"""Tier 2: merge above the band, escalate to a judge within, keep both below.

    $$ \text{sim} > 0.92 \Rightarrow \text{duplicate}, \quad 0.85 \le \text{sim} \le 0.92 \Rightarrow \text{escalate} $$

    >>> [similarity_band(similarity, duplicate=0.92, escalate=0.85) for similarity in (0.93, 0.92, 0.85, 0.84)]
    ['duplicate', 'escalate', 'escalate', 'distinct']
    """
    if similarity > duplicate:
        return "duplicate"
    return "escalate" if similarity >= escalate else "distinct"


def merge_band(similarity: float, *, restated: bool, duplicate: float, escalate: float) -> Band:
    r"""What becomes of a close pair: above the duplicate threshold it is merged only if it says the same for certain.

    The rest goes to the judge like the band below: a cosine does not tell a paraphrase from another statement.

    $$ \text{sim} > 0.92 \wedge \text{restated} \Rightarrow \text{duplicate} $$

    >>> [merge_band(0.95, restated=restated, duplicate=0.92, escalate=0.85) for restated in (True, False)]
    ['duplicate', 'escalate']
    """
    band = similarity_band(similarity, duplicate=duplicate, escalate=escalate)
    return "escalate" if band == "duplicate" and not restated else band


def merged_repetitions(one: int, other: int) -> int:
    r"""Repetitions after a merge, which counts as an observation itself.

    $$ n = n_1 + n_2 + 1 $$

    >>> merged_repetitions(0, 0)
    1
    """
    return one + other + 1


def fallback_subject(surface: str) -> uuid.UUID:
    r"""Deterministic identifier of an unresolved surface form.

    $$ \text{uuid5}(\text{NAMESPACE_DNS},\ \text{normalize}(\text{surface})) $$

    >>> fallback_subject("PostgreSQL") == fallback_subject(" postgresql ")
    True
    """
    return uuid.uuid5(uuid.NAMESPACE_DNS, normalize(surface))


def medoid(vectors: Array) -> int:
    r"""The member with the highest total similarity to the others.

    $$ \mathrm{argmax}_i \sum_j \cos(v_i, v_j) $$

    >>> medoid(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))
    1
    """
    return int(np.argmax((vectors @ vectors.T).sum(axis=1)))


def consolidation_groups(vectors: Array, threshold: float) -> list[list[int]]:
    r"""Greedy groups of a subject's memories to summarise, each around the memory with the most close neighbours.

    $$ \cos(v_i, v_{\text{middle}}) \ge 0.75 $$

    >>> consolidation_groups(np.array([[1.0, 0.0], [0.96, 0.28], [0.0, 1.0]]), 0.75)
    [[0, 1]]
    """
    close = vectors @ vectors.T >= threshold
    remaining, groups = np.ones(len(vectors), bool), []
    while remaining.any():
        middle = int(np.argmax(np.where(remaining, (close & remaining).sum(axis=1), 0)))
        members = np.flatnonzero(close[middle] & remaining)
        if len(members) < 2:
            break
        groups.append(members.tolist())
        remaining[members] = False
    return groups


def has_drifted(
    before: Array,
    recent: Array,
    relations_before: Set[str],
    relations_recent: Set[str],
    *,
    distance: float,
    overlap: float,
) -> bool:
    r"""Whether an entity has drifted: its memories' centroid moved and its relations changed.

    $$ 1 - \cos(\bar v_{\text{before}}, \bar v_{\text{lately}}) > 0.4 \ \wedge\
       J(R_{\text{before}}, R_{\text{lately}}) < 0.5 $$

    >>> has_drifted(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), {"owns"}, {"sold"}, distance=0.4, overlap=0.5)
    True
    """
    return centroid_distance(before, recent) > distance and set_overlap(relations_before, relations_recent) < overlap


def centroid_distance(one: Array, other: Array) -> float:
    """Cosine distance between the centroids of two groups of vectors; 0 if one is empty."""
    if not len(one) or not len(other):
        return 0.0
    a, b = one.mean(axis=0), other.mean(axis=0)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return 1.0 - float(a @ b) / norm if norm else 1.0


def set_overlap(one: Set[str], other: Set[str]) -> float:
    """Jaccard similarity of two sets; 1 for two empty sets."""
    return len(one & other) / len(one | other) if one or other else 1.0
