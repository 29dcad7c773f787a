"""Offline judgements by rule: whether a text bears a memory out, and whether two memories say the same."""

import re

from scoring.contradiction import Statement, conflicts
from scoring.dedup import normalize
from scoring.evidence import Grounding

_WORD = re.compile(r"\w+")
# Words that say nothing of what a sentence is about.
_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "of",
        "to",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "with",
        "as",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "will",
        "would",
        "can",
        "could",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "he",
        "she",
        "they",
        "them",
        "his",
        "her",
        "their",
        "i",
        "me",
        "my",
        "we",
        "our",
        "you",
        "your",
        "not",
        "no",
        "so",
        "than",
        "then",
    ]
)
SUPPORTED_FROM, PARTIAL_FROM = 0.6, 0.3  # share of a memory's words that its evidence must contain
SAME_FROM, DISTINCT_BELOW = 0.6, 0.25  # share of words two memories have in common


def grounding(content: str, evidence: str) -> Grounding:
    """How far a text bears a memory out; without a text there is nothing to doubt."""
    if not evidence.strip():
        return "supported"
    if conflicts(Statement(content), Statement(evidence)):
        return "unsupported"
    said, told = stems(content), stems(evidence)
    share = len(said & told) / len(said) if said else 1.0
    if share >= SUPPORTED_FROM:
        return "supported"
    return "partial" if share >= PARTIAL_FROM else "unsupported"


def same(one: str, other: str) -> bool | None:
    """Whether two close memories say the same; None where a person should look."""
    a, b = stems(one), stems(other)
    share = len(a & b) / len(a | b) if a | b else 1.0
    if share >= SAME_FROM:
        return True
    return False if share < DISTINCT_BELOW else None


def stems(text: str) -> set[str]:
    """The beginnings of the words that matter: “projects” and “project” are one."""
    return {word[:5] for word in _WORD.findall(normalize(text)) if word not in _COMMON}
