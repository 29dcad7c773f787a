"""Zep and Graphiti: edges, each a fact between two nodes, alone or beside their nodes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memories.transfer.formats.values import present, timestamp

NAME, TITLE = "graphiti", "a graph of Zep or Graphiti"
EDGE = ("fact", "source_node_uuid", "target_node_uuid")


def holds_edges(value: Mapping[str, Any]) -> bool:
    """Whether an object holds edges, with or without nodes."""
    edges = value.get("edges")
    return isinstance(edges, list) and all(isinstance(edge, Mapping) and is_edge(edge) for edge in edges[:1])


def is_edge(row: Mapping[str, Any]) -> bool:
    """Whether a row is an edge."""
    return all(name in row for name in EDGE)


def matches(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Graphs, or edges."""
    return all(holds_edges(row) or is_edge(row) for row in rows)


def bodies(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A fact per edge; it holds from `valid_at` to `invalid_at`."""
    edges = [edge for row in rows for edge in (row["edges"] if holds_edges(row) else [row])]
    nodes = [node for row in rows for node in row.get("nodes") or ()]
    names = {node.get("uuid"): node.get("name") for node in nodes if isinstance(node, Mapping)}
    for edge in edges:
        source, target = (names.get(edge.get(end), "") for end in ("source_node_uuid", "target_node_uuid"))
        yield present(
            content=edge.get("fact"),
            type="Relation" if source and target else "",
            subject=source,
            predicate=str(edge.get("name") or "").replace("_", " ").lower() if source else "",
            object=target,
            entities=[name for name in (source, target) if name],
            created_at=timestamp(edge.get("created_at")),
            valid_from=timestamp(edge.get("valid_at")),
            valid_until=timestamp(edge.get("invalid_at")),
            metadata=present(graphiti_uuid=edge.get("uuid"), group=edge.get("group_id")),
        )
