"""What a memory gets when the same is said again: it fills what was left open, and takes nothing away."""

from collections.abc import Iterable
from typing import Any

from memories.models import Memory
from memories.writing.new_memory import NewMemory

UNSAID = NewMemory(content="")
GREATER = ("importance", "quality")
NOTHING = (None, "")
OPEN = (("event_at", "event_until"), ("valid_from", "valid_until"), ("memory_score",))
COMPLETED = (*GREATER, *(name for names in OPEN for name in names))
WORDED = (("evidence",), ("object",))  # what goes with the very words
# Columns of which history tells nothing.
SILENT = frozenset(["evidence", "object", "metadata", "type_uncertain"])


def brought(known: Memory, new: NewMemory) -> dict[str, Any]:
    """The columns of a known memory that the same words change."""
    surer = {"type_uncertain": known.type_uncertain and new.uncertain}
    return {**completed(known, new), **filled(known, new, WORDED), **together(known, new), **surer}


def completed(known: Any, new: Any) -> dict[str, Any]:
    """The numbers and times of a known memory that another changes, in whatever words it says the same."""
    greater = {
        name: getattr(new, name)
        for name in GREATER
        if getattr(new, name) != getattr(UNSAID, name) and getattr(new, name) > getattr(known, name)
    }
    return {**greater, **filled(known, new, OPEN)}


def filled(known: Any, new: Any, groups: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """The columns that a known memory leaves open; those of a group only together."""
    return {
        name: getattr(new, name)
        for names in groups
        if all(getattr(known, name) in NOTHING for name in names)
        for name in names
    }


def together(known: Memory, new: Memory | NewMemory) -> dict[str, Any]:
    """What callers keep with both."""
    return {"metadata": new.metadata | known.metadata}
