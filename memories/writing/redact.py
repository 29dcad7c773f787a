"""Redaction of secrets before anything is stored, if the namespace requires it."""

from collections import Counter
from dataclasses import fields, replace
from typing import Any

from memories.models import Namespace
from memories.text.secret_redaction import redact_value
from memories.writing.new_memory import NewMemory

# Closed vocabularies, and the caller's own ids of users, agents and sessions.
NOT_REDACTED = frozenset(["type", "kind", "user", "agent", "session"])
UNBOUNDED_COLUMNS = frozenset(["content", "object", "evidence", "metadata"])  # columns without a length limit
MAX_COLUMN_LENGTH = 100  # length limit of the other columns


def redact_if_enabled(namespace: Namespace, value: Any) -> Any:
    """Redact caller input if the namespace requires it."""
    return redact_value(value, Counter()) if namespace.redacts else value


def redact_memory(new: NewMemory) -> NewMemory:
    """Redact all texts of a new memory."""
    counts: Counter[str] = Counter()
    texts = {field.name: getattr(new, field.name) for field in fields(new) if field.name not in NOT_REDACTED}
    redacted = {name: _truncate_to_column(name, value, redact_value(value, counts)) for name, value in texts.items()}
    return replace(new, **redacted) if counts else new


def _truncate_to_column(name: str, before: Any, after: Any) -> Any:
    """Truncate to the column's length: “[e-mail]” may be longer than the address it replaces."""
    if name in UNBOUNDED_COLUMNS:
        return after
    if isinstance(after, tuple):
        return tuple(_truncate_to_column(name, *pair) for pair in zip(before, after, strict=True))
    return after[: max(len(before), MAX_COLUMN_LENGTH)] if isinstance(after, str) and isinstance(before, str) else after
