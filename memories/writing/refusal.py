"""Why something cannot be done to a stored memory."""

from datetime import datetime
from uuid import UUID

from memories.models import Memory
from memories.models.choices import Status


class RefusedError(Exception):
    """What is stored stands against it; the code is for programs."""

    def __init__(self, why: str, code: str) -> None:
        super().__init__(why)
        self.code = code


class AbsentError(Exception):
    """There is no such row here, or it was forgotten."""

    def __init__(self, id: UUID, what: str = "memory") -> None:
        super().__init__(f"There is no {what} {id} here.")
        self.id = id


def not_so(memory: Memory) -> RefusedError:
    """Say where a memory stands, and which one stands in its place."""
    where = {
        Status.MERGED: f"was merged into {memory.merged_into_id}; speak of that one, or split it off first",
        Status.SUPERSEDED: f"was superseded by {memory.superseded_by_id}; speak of that one",
    }
    told = where.get(Status(memory.status), f"is {memory.status}" + (f" ({memory.reason})" if memory.reason else ""))
    return RefusedError(f"Memory {memory.id} {told}.", f"memory_{memory.status}")


def gives_way(memory: Memory) -> RefusedError:
    """Say which memory takes the place of another, and when."""
    until = memory.valid_until.isoformat() if memory.valid_until else "once"
    told = f"Memory {memory.id} gives way to {memory.superseded_by_id} at {until}; speak of that one."
    return RefusedError(told, f"memory_{Status.SUPERSEDED}")


class SpanError(Exception):
    """A span that would end before it begins."""

    def __init__(self, first: str, last: str, start: datetime, end: datetime) -> None:
        super().__init__(f"must not lie before {first}, which is {start.isoformat()}; got {end.isoformat()}")
        self.at = last
