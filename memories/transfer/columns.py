"""The columns of a table as fields of a memory."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memories.transfer.formats.values import present, timestamp

# Field of a memory → the names that its column often has.
COLUMN_NAMES: Mapping[str, Sequence[str]] = {
    "content": ("content", "memory", "text", "fact", "statement", "note", "body", "message", "value", "description"),
    "type": ("type", "category", "kind_of_memory"),
    "subject": ("subject", "entity", "about"),
    "predicate": ("predicate", "relation", "attribute", "property"),
    "object": ("object", "target"),
    "user": ("user", "user_id", "userid", "owner", "author"),
    "agent": ("agent", "agent_id", "bot"),
    "session": ("session", "session_id", "thread", "thread_id", "conversation", "conversation_id", "run_id"),
    "source": ("source", "origin", "channel"),
    "tags": ("tags", "labels", "categories", "topics"),
    "entities": ("entities", "people", "mentions"),
    "created_at": ("created_at", "created", "timestamp", "date", "time", "createdat"),
    "happened_at": ("happened_at", "happened", "occurred_at"),
    "importance": ("importance", "weight", "priority"),
}
LISTS, TIMES, NUMBERS = ("tags", "entities"), ("created_at", "happened_at"), ("importance",)


def guess_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The column of each field by its name, of the content also by the longest texts; each column serves one field."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    by_name = {re.sub(r"[\s-]+", "_", column.strip().casefold()): column for column in reversed(columns)}
    guesses: dict[str, str] = {}
    for field, names in COLUMN_NAMES.items():
        found = next((by_name[name] for name in names if name in by_name), None)
        if found and found not in guesses.values():
            guesses[field] = found
    if "content" not in guesses:
        lengths = {name: text_length(rows, name) for name in columns if name not in guesses.values()}
        longest = max(lengths, key=lambda name: lengths[name], default="")
        guesses |= {"content": longest} if lengths.get(longest) else {}
    return guesses


def text_length(rows: Sequence[Mapping[str, Any]], column: str) -> int:
    """The number of characters in the texts of a column."""
    return sum(len(value) for row in rows if isinstance(value := row.get(column), str))


def map_columns(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """A row as the body of a memory; the columns that serve no field are metadata."""
    body = {field: field_value(field, row[column]) for field, column in columns.items() if column in row}
    others = {name: value for name, value in row.items() if name not in columns.values()}
    return present(**body, metadata=others)


def field_value(field: str, value: Any) -> Any:
    """A value as its field takes it."""
    if field in LISTS:
        parts = re.split(r"[,;|]", value) if isinstance(value, str) else value
        return [part.strip() if isinstance(part, str) else part for part in parts] if isinstance(parts, list) else parts
    if field in TIMES:
        return timestamp(value)
    if field in NUMBERS and isinstance(value, str):
        return float(value) if re.fullmatch(r"\d*\.?\d+", value) else value
    return str(value) if isinstance(value, int | float) else value
