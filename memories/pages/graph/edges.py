"""The edges that a page of the graph goes by: those that retrieval would walk, read up to a limit that is told."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from django.db import connection
from django.db.models import Q, TextField
from django.db.models.functions import Cast

from memories.models import EntityEdge, Namespace
from memories.models.choices import Status
from memories.models.keys import NamespacedQuerySet


def text(column: str) -> Cast:
    """An id as text: thousands of them are compared, and a UUID takes ten times as long for that."""
    return Cast(column, TextField())


READ = 2_500  # edges that are looked at: the newest of all, or the strongest around an entity
COLUMNS = (text("id"), text("source_id"), "predicate", text("target_id"), "confidence", text("memory_id"))


class Edge(NamedTuple):
    """A relation between two entities, and the memory that tells it."""

    id: str
    source: str
    predicate: str
    target: str
    confidence: float
    memory: str | None  # none where it was drawn by hand


class Wanted(NamedTuple):
    """Which edges are looked at."""

    predicate: str = ""
    least: float = 0.0  # confidence


class Read(NamedTuple):
    """Edges, and whether there are more of them."""

    edges: list[Edge]
    more: bool


def standing(namespace: Namespace) -> NamespacedQuerySet[EntityEdge]:
    """An edge holds as long as the memory it was read from; one drawn by hand holds by itself."""
    held = Q(memory_id__isnull=True) | Q(memory__status=Status.ACTIVE)
    return EntityEdge.objects.within(namespace).filter(held, created_at__lte=namespace.now)


def wanted_of(namespace: Namespace, wanted: Wanted) -> NamespacedQuerySet[EntityEdge]:
    """The standing edges of a kind that are sure enough."""
    rows = standing(namespace).filter(confidence__gte=wanted.least)
    return rows.filter(predicate=wanted.predicate) if wanted.predicate else rows


def read(rows: NamespacedQuerySet[EntityEdge], most: int) -> Read:
    """So many edges at the most."""
    found = [Edge(*row) for row in rows.values_list(*COLUMNS)[: most + 1]]
    return Read(found[:most], len(found) > most)


def newest(namespace: Namespace, wanted: Wanted) -> Read:
    """The edges of the whole graph, those between the best connected first, among equals the strongest."""
    edges, more = read(wanted_of(namespace, wanted).order_by("-id"), READ)
    joined = degrees(edges)
    edges.sort(key=lambda one: (-min(joined[one.source], joined[one.target]), -one.confidence, one.id))
    return Read(edges, more)


def around(namespace: Namespace, root: str, hops: int, wanted: Wanted) -> Read:
    """All edges that paths of so many hops from an entity can use, hop by hop."""
    found: dict[str, Edge] = {}
    known, border = {root}, {root}
    rows = wanted_of(namespace, wanted).order_by("-confidence", "id")
    for _ in range(hops):
        if not border:
            break
        beside = rows.filter(Q(source_id__in=border) | Q(target_id__in=border))
        edges, more = read(beside, READ - len(found))
        found |= {one.id: one for one in edges}
        if more:
            return Read(list(found.values()), True)
        border = {end for one in edges for end in (one.source, one.target)} - known
        known |= border
    return Read(list(found.values()), False)


def degrees(edges: Collection[Edge]) -> dict[str, int]:
    """How many edges each entity has among these."""
    joined: dict[str, int] = {}
    for one in edges:
        for end in (one.source, one.target):
            joined[end] = joined.get(end, 0) + 1
    return joined


def predicates(namespace: Namespace, least: float) -> Mapping[str, int]:
    """How many of the newest edges have which predicate, the most frequent first."""
    rows = wanted_of(namespace, Wanted(least=least)).order_by("-id").values("predicate")
    sql, values = rows[:READ].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT predicate, count(*) FROM ({sql}) AS newest GROUP BY 1 ORDER BY 2 DESC, 1", values)
        return dict(cursor.fetchall())
