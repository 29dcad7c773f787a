"""Recall's own bodies, as POST memories/ and POST turns/ take them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from memories.contracts.new_memory import NewMemory

NAME, TITLE = "recall", "memories as Recall takes them"
FIELDS = {field.name for field in fields(NewMemory)} | {"source_level", "sources", "turn", "extractor"}


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Every field is one of a memory, or it is a conversation."""
    return all(is_conversation(row) or ("content" in row and row.keys() <= FIELDS) for row in rows)


def is_conversation(row: Mapping[str, Any]) -> bool:
    """Whether a body is a conversation."""
    return isinstance(row.get("turns"), list)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """As they are."""
    for row in rows:
        yield dict(row)
