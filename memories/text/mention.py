"""Mentions: surface forms and their offsets."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class TextMention:
    """A surface form and its offsets: `text[start:end] == surface`."""

    surface: str
    start: int
    end: int


def coverage_mask(text: str, mentions: Iterable[TextMention]) -> bytearray:
    """A mask of the characters that the mentions cover."""
    mask = bytearray(len(text))
    for mention in mentions:
        mask[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
    return mask


def drop_overlaps(text: str, mentions: Iterable[TextMention]) -> list[TextMention]:
    """Mentions without overlap, in text order; of two that overlap, the longer is kept."""
    selected: list[TextMention] = []
    mask = bytearray(len(text))
    for candidate in sorted(mentions, key=lambda mention: (mention.start - mention.end, mention.start)):
        if 1 not in mask[candidate.start : candidate.end]:
            mask[candidate.start : candidate.end] = b"\1" * (candidate.end - candidate.start)
            selected.append(candidate)
    return sorted(selected, key=lambda mention: mention.start)
