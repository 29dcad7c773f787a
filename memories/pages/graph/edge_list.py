"""The edges a graph page draws: those that retrieval traverses, read up to a limit."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from django.db import connection
from django.db.models import Q, TextField
from django.db.models.functions import Cast

from memories.models import EntityEdge, Namespace
from memories.models.choices import Status
from memories.models.keys import NamespacedQuerySet


def as_text(column: str) -> Cast:
    """An id as text: thousands are compared, and comparing UUIDs takes ten times as long."""
    return Cast(column, TextField())


MAX_READ = 2_500  # edges: the newest of all, or the strongest around an entity
COLUMNS = (
    as_text("id"),
    as_text("source_id"),
    "predicate",
    as_text("target_id"),
    "confidence",
    as_text("memory_id"),
)


class GraphEdge(NamedTuple):
    """A relation between two entities, and the memory it was read from."""

    id: str
    source: str
    predicate: str
    target: str
    confidence: float
    memory: str | None  # None if it was added by hand


class EdgeFilter(NamedTuple):
    """Which edges to read."""

    predicate: str = ""
    min_confidence: float = 0.0


class EdgeList(NamedTuple):
    """Edges, and whether there are more."""

    edges: list[GraphEdge]
    truncated: bool


def valid_edges(namespace: Namespace) -> NamespacedQuerySet[EntityEdge]:
    """The edges whose memory is active, and those added by hand."""
    valid = Q(memory_id__isnull=True) | Q(memory__status=Status.ACTIVE)
    return EntityEdge.objects.within(namespace).filter(valid, created_at__lte=namespace.now)


def filter_edges(namespace: Namespace, edge_filter: EdgeFilter) -> NamespacedQuerySet[EntityEdge]:
    """The valid edges that pass a filter."""
    rows = valid_edges(namespace).filter(confidence__gte=edge_filter.min_confidence)
    return rows.filter(predicate=edge_filter.predicate) if edge_filter.predicate else rows


def fetch_edges(rows: NamespacedQuerySet[EntityEdge], limit: int) -> EdgeList:
    """The first edges of a query."""
    edges = [GraphEdge(*row) for row in rows.values_list(*COLUMNS)[: limit + 1]]
    return EdgeList(edges[:limit], len(edges) > limit)


def newest_edges(namespace: Namespace, edge_filter: EdgeFilter) -> EdgeList:
    """The newest edges of the whole graph; those between the best connected first, then the strongest."""
    edges, truncated = fetch_edges(filter_edges(namespace, edge_filter).order_by("-id"), MAX_READ)
    degrees = edge_degrees(edges)
    edges.sort(key=lambda edge: (-min(degrees[edge.source], degrees[edge.target]), -edge.confidence, edge.id))
    return EdgeList(edges, truncated)


def edges_around(namespace: Namespace, root: str, hops: int, edge_filter: EdgeFilter) -> EdgeList:
    """The edges on paths of up to `hops` hops from an entity, read hop by hop."""
    by_id: dict[str, GraphEdge] = {}
    visited, frontier = {root}, {root}
    rows = filter_edges(namespace, edge_filter).order_by("-confidence", "id")
    for _ in range(hops):
        if not frontier:
            break
        incident = rows.filter(Q(source_id__in=frontier) | Q(target_id__in=frontier))
        edges, truncated = fetch_edges(incident, MAX_READ - len(by_id))
        by_id |= {edge.id: edge for edge in edges}
        if truncated:
            return EdgeList(list(by_id.values()), True)
        frontier = entities_of_edges(edges) - visited
        visited |= frontier
    return EdgeList(list(by_id.values()), False)


def entities_of_edges(edges: Collection[GraphEdge]) -> set[str]:
    """The entities at either end of some edges."""
    return {entity for edge in edges for entity in (edge.source, edge.target)}


def edge_degrees(edges: Collection[GraphEdge]) -> dict[str, int]:
    """How many of these edges each entity has."""
    degrees: dict[str, int] = {}
    for edge in edges:
        for entity in (edge.source, edge.target):
            degrees[entity] = degrees.get(entity, 0) + 1
    return degrees


def predicate_counts(namespace: Namespace, min_confidence: float) -> Mapping[str, int]:
    """The newest edges by predicate, most frequent first."""
    edge_filter = EdgeFilter(min_confidence=min_confidence)
    rows = filter_edges(namespace, edge_filter).order_by("-id").values("predicate")
    sql, values = rows[:MAX_READ].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT predicate, count(*) FROM ({sql}) AS newest GROUP BY 1 ORDER BY 2 DESC, 1", values)
        return dict(cursor.fetchall())
