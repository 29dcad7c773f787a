"""A session cut into exchanges: what the user says and what is answered. Each is one chunk, as memsense has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from memories.models import Turn
from memories.models.choices import Route, TurnRole

# Instructions and the output of tools are stored, but nobody says them.
SPOKEN = (TurnRole.USER, TurnRole.ASSISTANT)
LONGEST = 100_000  # characters of a chunk's turns: Postgres indexes the words of no more than a megabyte


@dataclass(frozen=True)
class Exchange:
    """A user's turn with the answers to it, or as many as one chunk takes, and the turn before."""

    turns: tuple[Turn, ...]
    before: Turn | None

    @property
    def first(self) -> Turn:
        """The turn it begins with, which it is known by."""
        return self.turns[0]

    @property
    def opening(self) -> str:
        """What the user says first in it; nothing where it begins with an answer."""
        return self.first.text if self.first.role == TurnRole.USER else ""

    def said_by(self, *roles: TurnRole) -> str:
        """The words of some of the speakers; without names, which would pull all vectors of a session together."""
        return joined([turn.text for turn in self.turns if turn.role in roles])

    def texts(self) -> dict[Route, str]:
        """What each route embeds, but for what others say of it."""
        whole = self.said_by(*SPOKEN)
        found = {
            Route.FULL: whole,
            Route.USER: self.said_by(TurnRole.USER),
            Route.ASSISTANT: self.said_by(TurnRole.ASSISTANT),
            Route.CONTEXT: in_context(self.before, whole),
        }
        return {route: text for route, text in found.items() if text.strip()}


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Cut a session's turns where a user speaks, and answers that go on for too long where one more would not fit.

    Two people who are both users answer each other turn by turn.
    """
    spoken, starts, length = [turn for turn in turns if turn.role in SPOKEN], [], 0
    for place, turn in enumerate(spoken):
        length += len(str(turn)) + 1
        if not place or turn.role == TurnRole.USER or length > LONGEST:
            starts.append(place)
            length = len(str(turn)) + 1
    return [
        Exchange(tuple(spoken[start:end]), spoken[start - 1] if start else None)
        for start, end in pairwise([*starts, len(spoken)])
    ]


def turn_before(turns: Sequence[Turn]) -> dict[UUID, Turn | None]:
    """For each turn the one that was said before it."""
    spoken = [turn for turn in turns if turn.role in SPOKEN]
    return {turn.id: before for turn, before in zip(spoken, [None, *spoken], strict=False)}


def in_context(before: Turn | None, text: str) -> str:
    """A text with the turn that was said before it."""
    return joined([before.text, text]) if before else text


def shown(turns: Sequence[Turn]) -> str:
    """Turns as a person reads them, with names; of too many the latest, and how many came before."""
    lines = [str(turn) for turn in turns]
    length, kept = 0, len(lines)
    while kept and (length := length + len(lines[kept - 1]) + 1) <= LONGEST:
        kept -= 1
    return joined([f"[{kept} earlier turns]", *lines[kept:]] if kept else lines)


def joined(texts: Sequence[str]) -> str:
    """Texts line by line."""
    return "\n".join(texts)
