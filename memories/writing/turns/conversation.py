"""A submitted conversation, and the positions of its turns in the stored session."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from memories.models import Namespace, Session, Turn
from memories.text.secret_redaction import redact_value

MAX_NAME_LENGTH = 200  # column length


@dataclass(frozen=True, kw_only=True)
class NewTurn:
    """One submitted turn."""

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
    source: str = ""


def redact_conversation(conversation: Conversation) -> Conversation:
    """Redact the title, source, texts, speakers and metadata of a conversation."""
    title, source = (
        redact_value(text, Counter())[:MAX_NAME_LENGTH] for text in (conversation.title, conversation.source)
    )
    turns = [_redact_turn(turn) for turn in conversation.turns]
    return replace(conversation, title=title, source=source, turns=turns)


def _redact_turn(turn: NewTurn) -> NewTurn:
    values = {"text": turn.text, "speaker": turn.speaker, "metadata": dict(turn.metadata)}
    redacted = redact_value(values, Counter())
    # “[e-mail]” may be longer than the address it replaces.
    return replace(turn, **redacted | {"speaker": redacted["speaker"][:MAX_NAME_LENGTH]})


class PositionTakenError(Exception):
    """A turn asks for a position it cannot have; `index` is its index in the request."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


@dataclass(frozen=True)
class PlacedConversation:
    """A session with its stored and its new turns."""

    session: Session
    stored: Sequence[Turn]
    turns: Sequence[Turn]  # one row per submitted turn, in order, stored or new

    @cached_property
    def fresh(self) -> list[Turn]:
        """The new turns, each once."""
        return list({turn.id: turn for turn in self.turns if turn._state.adding}.values())


def place_conversation(namespace: Namespace, conversation: Conversation, now: datetime) -> PlacedConversation:
    """Find the session and assign positions to the turns, in two SQL queries."""
    session = Session.objects.within(namespace).filter(user=conversation.user, key=conversation.session).first()
    if session is None:
        started_at = next((turn.said_at for turn in conversation.turns if turn.said_at), now)
        session = Session(
            namespace=namespace,
            user=conversation.user,
            key=conversation.session,
            agent=conversation.agent,
            title=conversation.title,
        )
        session.started_at = started_at
        return PlacedConversation(session, (), _place_turns(session, [], conversation.turns, now))
    session.title = conversation.title or session.title
    stored = list(Turn.objects.within(namespace).filter(session_id=session.id).order_by("position"))
    return PlacedConversation(session, stored, _place_turns(session, stored, conversation.turns, now))


def _place_turns(session: Session, stored: Sequence[Turn], turns: Sequence[NewTurn], now: datetime) -> list[Turn]:
    """Assign positions: after the last turn, or as requested."""
    by_position = {turn.position: turn for turn in stored}
    next_position = max(by_position, default=0) + 1
    placed_turns, said_at = [], now
    for index, new in enumerate(turns):
        position = next_position if new.position is None else new.position
        said_at = new.said_at or said_at
        existing = by_position.get(position)
        if existing is not None and existing.text != new.text:
            raise PositionTakenError(index, f"must not be taken by a turn of another text; got {position}")
        if existing is None and position < next_position:
            raise PositionTakenError(index, f"must be a stored position, or at least {next_position}; got {position}")
        if existing is None:
            existing = by_position[position] = _turn_row(session, position, new, said_at)
            next_position = position + 1
        placed_turns.append(existing)
    return placed_turns


def _turn_row(session: Session, position: int, new: NewTurn, said_at: datetime) -> Turn:
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
