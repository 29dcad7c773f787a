"""Secrets are blacked out before anything is stored, where a namespace asks for it."""

from collections import Counter
from dataclasses import fields, replace
from typing import Any

from memories.language.redaction import redacted_deep
from memories.models import Namespace
from memories.writing.new_memory import NewMemory

# Words of closed sets, and the caller's own names by which users, agents and sessions are told apart and asked for.
KEPT = frozenset(["type", "kind", "user", "agent", "session"])
LONG = frozenset(["content", "object", "evidence", "metadata"])  # of any length
SHORT = 100  # characters that any other column takes


def cleaned(namespace: Namespace, value: Any) -> Any:
    """Anything that a caller tells, without secrets where the namespace asks for it."""
    return redacted_deep(value, Counter()) if namespace.redacts else value


def redact(new: NewMemory) -> NewMemory:
    """A memory to be, without secrets in any of its texts."""
    found: Counter[str] = Counter()
    texts = {field.name: getattr(new, field.name) for field in fields(new) if field.name not in KEPT}
    clean = {name: _fitting(name, value, redacted_deep(value, found)) for name, value in texts.items()}
    return replace(new, **clean) if found else new


def _fitting(name: str, before: Any, after: Any) -> Any:
    """“[e-mail]” may be longer than the address, and a column that was full has no room for that."""
    if name in LONG:
        return after
    if isinstance(after, tuple):
        return tuple(_fitting(name, *pair) for pair in zip(before, after, strict=True))
    return after[: max(len(before), SHORT)] if isinstance(after, str) and isinstance(before, str) else after
