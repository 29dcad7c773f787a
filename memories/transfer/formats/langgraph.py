"""LangGraph stores, LangMem among them: items with a namespace, a key and a value."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memories.transfer.formats.values import present, timestamp

NAME, TITLE = "langgraph", "a store of LangGraph or LangMem"
TEXTS = ("content", "memory", "text", "fact", "data")  # the key of the text, by how often it is used


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Items as `Item.dict()` gives them."""
    return all("key" in row and "value" in row and isinstance(row.get("namespace"), list) for row in rows)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The namespace's last part is the user; what else the value holds is metadata."""
    for row in rows:
        text, others = split_value(row["value"])
        yield present(
            content=text,
            user=str(row["namespace"][-1]) if len(row["namespace"]) > 1 else "",
            tags=[str(part) for part in row["namespace"][:-1]] if len(row["namespace"]) > 1 else row["namespace"],
            created_at=timestamp(row.get("created_at")),
            metadata={**others, "langgraph_key": row["key"]},
        )


def split_value(value: Any) -> tuple[Any, dict[str, Any]]:
    """The text of a value, and the rest of it; LangMem nests the text twice."""
    if not isinstance(value, Mapping):
        return value, {}
    name = next((name for name in TEXTS if name in value), None)
    if name is None:
        return None, dict(value)
    others = {other: inner for other, inner in value.items() if other != name}
    text, nested = split_value(value[name]) if isinstance(value[name], Mapping) else (value[name], {})
    return text, {**nested, **others}
