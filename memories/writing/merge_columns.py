"""Columns a memory gains when it is stated again: gaps are filled, nothing is overwritten."""

from collections.abc import Iterable
from typing import Any

from memories.models import Memory
from memories.writing.new_memory import NewMemory

DEFAULTS = NewMemory(content="")
MAX_COLUMNS = ("importance", "quality")
EMPTY_VALUES = (None, "")
FILL_GROUPS = (("event_at", "event_until"), ("valid_from", "valid_until"), ("memory_score",))
MERGED_COLUMNS = (*MAX_COLUMNS, *(name for names in FILL_GROUPS for name in names))
SAME_TEXT_GROUPS = (("evidence",), ("object",))  # valid only for identical text
# Columns whose changes are not recorded.
UNRECORDED_COLUMNS = frozenset(["evidence", "object", "metadata", "type_uncertain"])


def repeated_columns(known: Memory, new: NewMemory) -> dict[str, Any]:
    """The columns that a repetition in the same words changes."""
    certainty = {"type_uncertain": known.type_uncertain and new.type_uncertain}
    return {
        **merged_columns(known, new),
        **fill_empty_columns(known, new, SAME_TEXT_GROUPS),
        **merged_metadata(known, new),
        **certainty,
    }


def merged_columns(known: Any, new: Any) -> dict[str, Any]:
    """The scores and times that a duplicate in any words changes."""
    greater = {
        name: getattr(new, name)
        for name in MAX_COLUMNS
        if getattr(new, name) != getattr(DEFAULTS, name) and getattr(new, name) > getattr(known, name)
    }
    return {**greater, **fill_empty_columns(known, new, FILL_GROUPS)}


def fill_empty_columns(known: Any, new: Any, groups: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """Values for empty columns; a group is filled only if all its columns are empty."""
    return {
        name: getattr(new, name)
        for names in groups
        if all(getattr(known, name) in EMPTY_VALUES for name in names)
        for name in names
    }


def merged_metadata(known: Memory, new: Memory | NewMemory) -> dict[str, Any]:
    """The merged metadata."""
    return {"metadata": new.metadata | known.metadata}
