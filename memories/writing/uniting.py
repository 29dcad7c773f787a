"""What the same words bring when they are said again: they fill what was left open, and take nothing away."""

from typing import Any

from memories.models import Memory
from memories.writing.new_memory import NewMemory

UNSAID = NewMemory(content="")
GREATER = ("importance", "quality")
NOTHING = (None, "")
OPEN = (("event_at", "event_until"), ("valid_from", "valid_until"), ("memory_score",), ("evidence",), ("object",))
# Columns of which history tells nothing.
SILENT = frozenset(["evidence", "object", "metadata", "type_uncertain"])


def brought(known: Memory, new: NewMemory) -> dict[str, Any]:
    """The columns of a known memory that a further observation changes."""
    greater = {
        name: getattr(new, name)
        for name in GREATER
        if getattr(new, name) != getattr(UNSAID, name) and getattr(new, name) > getattr(known, name)
    }
    filled = {
        name: getattr(new, name)
        for names in OPEN
        if all(getattr(known, name) in NOTHING for name in names)
        for name in names
    }
    surer = {"metadata": new.metadata | known.metadata, "type_uncertain": known.type_uncertain and new.uncertain}
    return {**greater, **filled, **surer}
