"""Where in a text something is named."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mention:
    """A surface form and where it stands: `text[start:end] == surface`."""

    surface: str
    start: int
    end: int


def cover(text: str, mentions: Iterable[Mention]) -> bytearray:
    """Mark every place of a text that a mention covers."""
    marks = bytearray(len(text))
    for one in mentions:
        marks[one.start : one.end] = b"\1" * (one.end - one.start)
    return marks


def apart(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Keep those that do not overlap, the longest first, in the order of the text."""
    kept: list[Mention] = []
    marks = bytearray(len(text))
    for one in sorted(mentions, key=lambda mention: (mention.start - mention.end, mention.start)):
        if 1 not in marks[one.start : one.end]:
            marks[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept, key=lambda mention: mention.start)
