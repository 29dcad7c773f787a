"""The MCP memory server's knowledge graph: entities with observations, and relations between them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memories.transfer.formats.values import present

NAME, TITLE = "mcp", "a graph of the MCP memory server"


def holds_entities(value: Mapping[str, Any]) -> bool:
    """Whether an object is what `read_graph` returns."""
    return isinstance(value.get("entities"), list) and isinstance(value.get("relations"), list)


def is_entity(row: Mapping[str, Any]) -> bool:
    """Whether a row is an entity."""
    return "entityType" in row and isinstance(row.get("observations"), list) and "name" in row


def is_relation(row: Mapping[str, Any]) -> bool:
    """Whether a row is a relation."""
    return "relationType" in row and "from" in row and "to" in row


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """The graph in one object, or an entity or relation on each line."""
    return all(holds_entities(row) or is_entity(row) or is_relation(row) for row in rows)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A memory per observation and per relation."""
    parts = [
        part for row in rows for part in ((*row["entities"], *row["relations"]) if holds_entities(row) else (row,))
    ]
    for part in parts:
        if is_relation(part):
            source, relation, target = (str(part[name]) for name in ("from", "relationType", "to"))
            words = relation.replace("_", " ")
            yield present(
                content=f"{source} {words} {target}",
                type="Relation",
                subject=source,
                predicate=words,
                object=target,
                entities=[source, target],
            )
            continue
        for observation in part.get("observations", ()):
            name, text = str(part["name"]), str(observation)
            yield present(
                content=text if name.casefold() in text.casefold() else f"{name}: {text}",
                subject=name,
                entities=[name],
                tags=[str(part["entityType"])],
            )
