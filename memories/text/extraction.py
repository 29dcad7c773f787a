"""What an extractor reads and returns: the context of some turns, and the memories stated in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.models import Turn
from memories.models.choices import Kind, TurnRole


@dataclass(frozen=True)
class ConversationContext:
    """The conversation that turns belong to, and the turns just before them."""

    session: str = ""
    user: str = ""
    agent: str = ""
    before: Sequence[Turn] = ()
    source: str = ""

    def name_of(self, turn: Turn) -> str:
        """The speaker of a turn, by name if it is known, else by role."""
        if turn.role == TurnRole.USER:
            return turn.speaker or self.user or "The user"
        return turn.speaker or self.agent or "The assistant"


NO_CONTEXT = ConversationContext()


@dataclass(frozen=True, kw_only=True)
class ExtractedMemory:
    """A memory stated in one turn."""

    content: str
    turn_id: UUID
    level: str
    evidence: str
    happened_at: datetime
    model: str
    type: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    logprobs: tuple[float, ...] = ()
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kind: str = Kind.GENERAL
    event_at: datetime | None = None
    event_until: datetime | None = None
