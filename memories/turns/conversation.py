"""A conversation as it comes in, and where its turns stand among those that are stored."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from memories.language.redaction import redacted_deep
from memories.models import Namespace, Session, Turn

LONGEST_NAME = 200  # characters that the column takes


@dataclass(frozen=True, kw_only=True)
class NewTurn:
    """One utterance as a caller tells it."""

    role: str
    text: str
    speaker: str = ""
    said_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    position: int | None = None


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Some turns of one session."""

    session: str
    turns: Sequence[NewTurn]
    user: str = ""
    agent: str = ""
    title: str = ""


def clean(said: Conversation) -> Conversation:
    """A conversation without secrets in its title, in what is said, by whom, and what is noted beside it."""
    title = redacted_deep(said.title, Counter())[:LONGEST_NAME]
    return replace(said, title=title, turns=[_clean(turn) for turn in said.turns])


def _clean(turn: NewTurn) -> NewTurn:
    told = {"text": turn.text, "speaker": turn.speaker, "metadata": dict(turn.metadata)}
    clean = redacted_deep(told, Counter())
    # “[e-mail]” may be longer than the address was.
    return replace(turn, **clean | {"speaker": clean["speaker"][:LONGEST_NAME]})


class PlaceTakenError(Exception):
    """A turn wants a place that it cannot have; `place` is its number among the turns that came."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class Placed:
    """A session with the turns it had and those it gets."""

    session: Session
    stored: Sequence[Turn]
    told: Sequence[Turn]  # a row for each turn that came, in order: one that was there, or a fresh one

    @cached_property
    def fresh(self) -> list[Turn]:
        """The turns that are new, each once."""
        return list({turn.id: turn for turn in self.told if turn._state.adding}.values())

    @property
    def last(self) -> int:
        """The last position that is taken already."""
        return self.stored[-1].position if self.stored else 0


def placed(namespace: Namespace, said: Conversation, now: datetime) -> Placed:
    """Find a conversation's session and give each turn its place; two questions."""
    session = Session.objects.within(namespace).filter(user=said.user, key=said.session).first()
    if session is None:
        started = next((turn.said_at for turn in said.turns if turn.said_at), now)
        session = Session(namespace=namespace, user=said.user, key=said.session, agent=said.agent, title=said.title)
        session.started_at = started
        return Placed(session, (), _places(session, [], said.turns, now))
    session.title = said.title or session.title
    stored = list(Turn.objects.within(namespace).filter(session_id=session.id).order_by("position"))
    return Placed(session, stored, _places(session, stored, said.turns, now))


def _places(session: Session, stored: Sequence[Turn], turns: Sequence[NewTurn], now: datetime) -> list[Turn]:
    """Give turns their positions: after the last, or as they say."""
    known = {turn.position: turn for turn in stored}
    coming = max(known, default=0) + 1
    told, said_at = [], now
    for place, new in enumerate(turns):
        position = coming if new.position is None else new.position
        said_at = new.said_at or said_at
        there = known.get(position)
        if there is not None and there.text != new.text:
            raise PlaceTakenError(place, f"must not be taken by a turn of another text; got {position}")
        if there is None and position < coming:
            raise PlaceTakenError(place, f"must be a stored position, or at least {coming}; got {position}")
        if there is None:
            there = known[position] = _row(session, position, new, said_at)
            coming = position + 1
        told.append(there)
    return told


def _row(session: Session, position: int, new: NewTurn, said_at: datetime) -> Turn:
    return Turn(
        namespace_id=session.namespace_id,
        session_id=session.id,
        position=position,
        role=new.role,
        speaker=new.speaker,
        text=new.text,
        said_at=said_at,
        metadata=dict(new.metadata),
    )
