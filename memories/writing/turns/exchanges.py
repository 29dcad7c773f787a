"""A session split into exchanges, a user turn and its answers; each is one chunk, as in memsense."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from memories.models import Turn
from memories.models.choices import Route, TurnRole

# System and tool turns are stored but not spoken.
SPOKEN_ROLES = (TurnRole.USER, TurnRole.ASSISTANT)
MAX_CHUNK_LENGTH = 100_000  # characters per chunk: a tsvector is limited to 1 MB


@dataclass(frozen=True)
class Exchange:
    """A user turn with its answers, up to the chunk limit, and the turn before it."""

    turns: tuple[Turn, ...]
    previous: Turn | None

    @property
    def first(self) -> Turn:
        """Its first turn, which identifies it."""
        return self.turns[0]

    @property
    def opening(self) -> str:
        """The user's first text; empty if the exchange starts with an answer."""
        return self.first.text if self.first.role == TurnRole.USER else ""

    def text_by(self, *roles: TurnRole) -> str:
        """The text of some roles, without speaker names: those would pull all vectors of a session together."""
        return "\n".join([turn.text for turn in self.turns if turn.role in roles])

    def route_texts(self) -> dict[Route, str]:
        """The text of each route that depends on this exchange alone."""
        full_text = self.text_by(*SPOKEN_ROLES)
        by_route = {
            Route.FULL: full_text,
            Route.USER: self.text_by(TurnRole.USER),
            Route.ASSISTANT: self.text_by(TurnRole.ASSISTANT),
            Route.CONTEXT: prepend_turn(self.previous, full_text),
        }
        return {route: text for route, text in by_route.items() if text.strip()}


def split_exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Split a session's turns before each user turn, and overlong answers at the chunk limit.

    Two users talking to each other get one exchange per turn.
    """
    spoken, starts, length = [turn for turn in turns if turn.role in SPOKEN_ROLES], [], 0
    for index, turn in enumerate(spoken):
        length += len(str(turn)) + 1
        if not index or turn.role == TurnRole.USER or length > MAX_CHUNK_LENGTH:
            starts.append(index)
            length = len(str(turn)) + 1
    return [
        Exchange(tuple(spoken[start:end]), spoken[start - 1] if start else None)
        for start, end in pairwise([*starts, len(spoken)])
    ]


def previous_turns(turns: Sequence[Turn]) -> dict[UUID, Turn | None]:
    """The previous spoken turn of each turn."""
    spoken = [turn for turn in turns if turn.role in SPOKEN_ROLES]
    return {turn.id: previous for turn, previous in zip(spoken, [None, *spoken], strict=False)}


def prepend_turn(previous: Turn | None, text: str) -> str:
    """A text with the turn before it."""
    return "\n".join([previous.text, text]) if previous else text


def render_turns(turns: Sequence[Turn]) -> str:
    """Turns as readable text with speaker names; the latest ones if they exceed the limit."""
    lines = [str(turn) for turn in turns]
    length, omitted = 0, len(lines)
    while omitted and (length := length + len(lines[omitted - 1]) + 1) <= MAX_CHUNK_LENGTH:
        omitted -= 1
    return "\n".join([f"[{omitted} earlier turns]", *lines[omitted:]] if omitted else lines)
