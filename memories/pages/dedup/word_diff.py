"""Word diff of two texts."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from scoring.dedup import normalize

MAX_WORDS = 600  # longer texts are not compared


class DiffPiece(NamedTuple):
    """Consecutive words, and whether the other text lacks them."""

    text: str
    own: bool


def word_diff(first: str, second: str) -> tuple[list[DiffPiece], list[DiffPiece]]:
    """Both texts in pieces, split where they start or stop to differ; case and outer punctuation are ignored.

    >>> first, second = word_diff("It runs PostgreSQL 14.", "it runs Postgres")
    >>> [piece.text for piece in first if piece.own], [piece.text for piece in second if piece.own]
    (['PostgreSQL 14.'], ['Postgres'])
    """
    first_words, second_words = first.split(), second.split()
    if max(len(first_words), len(second_words)) > MAX_WORDS:
        return [DiffPiece(first, False)], [DiffPiece(second, False)]
    matcher = SequenceMatcher(
        None, [comparable_word(word) for word in first_words], [comparable_word(word) for word in second_words], False
    )
    opcodes = matcher.get_opcodes()
    return (
        diff_pieces(first_words, [(start, end, tag != "equal") for tag, start, end, _, _ in opcodes]),
        diff_pieces(second_words, [(start, end, tag != "equal") for tag, _, _, start, end in opcodes]),
    )


def comparable_word(word: str) -> str:
    """A word normalised; pure punctuation stays as it is."""
    return normalize(word) or word


def diff_pieces(words: Sequence[str], spans: Sequence[tuple[int, int, bool]]) -> list[DiffPiece]:
    """The words of each span, joined."""
    return [DiffPiece(" ".join(words[start:end]), own) for start, end, own in spans if end > start]
