"""Two texts side by side: which words each has to itself."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from scoring.dedup import normalize

LONGEST = 600  # words that are compared one by one


class Piece(NamedTuple):
    """Some words, and whether the other text lacks them."""

    text: str
    own: bool


def differences(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, cut where they begin or cease to differ; case and outer punctuation make no difference.

    >>> here, there = differences("It runs PostgreSQL 14.", "it runs Postgres")
    >>> [piece.text for piece in here if piece.own], [piece.text for piece in there if piece.own]
    (['PostgreSQL 14.'], ['Postgres'])
    """
    here, there = one.split(), other.split()
    if max(len(here), len(there)) > LONGEST:
        return [Piece(one, False)], [Piece(other, False)]
    matched = SequenceMatcher(None, [bare(word) for word in here], [bare(word) for word in there], autojunk=False)
    steps = matched.get_opcodes()
    return (
        pieces(here, [(start, end, tag != "equal") for tag, start, end, _, _ in steps]),
        pieces(there, [(start, end, tag != "equal") for tag, _, _, start, end in steps]),
    )


def bare(word: str) -> str:
    """A word as it is compared; what is nothing but punctuation says what it is."""
    return normalize(word) or word


def pieces(words: Sequence[str], spans: Sequence[tuple[int, int, bool]]) -> list[Piece]:
    """The words of some spans, joined."""
    return [Piece(" ".join(words[start:end]), own) for start, end, own in spans if end > start]
