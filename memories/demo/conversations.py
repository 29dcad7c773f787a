"""The demo's sessions and turns as rows."""

from collections.abc import Iterator
from uuid import UUID

from memories.demo import world
from memories.ids import derived
from memories.models import Session, Turn
from memories.models.choices import TurnRole


def session_id(session: world.Session) -> UUID:
    """Give a session's identifier."""
    return derived(session.started_at, f"session {session.key}")


def turn_id(turn: world.Turn) -> UUID:
    """Give a turn's identifier."""
    return derived(turn.at, f"turn {turn.key}")


def rows(world: world.World) -> Iterator[Session | Turn]:
    """Make every conversation, each session before its turns."""
    for session in world.sessions.values():
        yield Session(
            id=session_id(session),
            key=session.key,
            title=session.title,
            user=session.user,
            started_at=session.started_at,
        )
        for position, turn in enumerate(session.turns, 1):
            yield Turn(
                id=turn_id(turn),
                session_id=session_id(session),
                position=position,
                role=turn.role,
                speaker=world.entities[session.user].name if turn.role == TurnRole.USER else "",
                text=turn.text,
                said_at=turn.at,
            )
