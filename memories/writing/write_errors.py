"""Errors of the write path."""

from datetime import datetime
from uuid import UUID

from memories.models import Memory
from memories.models.choices import Status


class RefusedError(Exception):
    """The stored state forbids the operation; `code` is machine-readable."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class NotFoundError(Exception):
    """The row does not exist in this namespace, or the memory is forgotten."""

    def __init__(self, id: UUID, what: str = "memory") -> None:
        super().__init__(f"There is no {what} {id} here.")
        self.id = id


def wrong_status_error(memory: Memory) -> RefusedError:
    """The error for a memory of the wrong status; names the memory that replaced it."""
    replacements = {
        Status.MERGED: f"was merged into {memory.merged_into_id}; use that one, or split it off first",
        Status.SUPERSEDED: f"was superseded by {memory.superseded_by_id}; use that one",
    }
    state = replacements.get(
        Status(memory.status), f"is {memory.status}" + (f" ({memory.reason})" if memory.reason else "")
    )
    return RefusedError(f"Memory {memory.id} {state}.", f"memory_{memory.status}")


def pending_supersession_error(memory: Memory) -> RefusedError:
    """The error for a memory with a pending successor; names it and its start."""
    until = memory.valid_until.isoformat() if memory.valid_until else "once"
    message = f"Memory {memory.id} is superseded by {memory.superseded_by_id} at {until}; use that one."
    return RefusedError(message, f"memory_{Status.SUPERSEDED}")


class IntervalError(Exception):
    """An interval that would end before it starts."""

    def __init__(self, first: str, last: str, start: datetime, end: datetime) -> None:
        super().__init__(f"must not lie before {first}, which is {start.isoformat()}; got {end.isoformat()}")
        self.field = last
