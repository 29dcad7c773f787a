"""The picture as tables: entities, paths in words, and edges with their memories."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count

from memories.contracts.number_format import without_underscores
from memories.models import EntityAlias, Memory, Mention, Namespace
from memories.models.choices import STATEMENTS, Status
from memories.pages.graph.edge_list import GraphEdge
from memories.pages.graph.entity_lookup import EntityLabel
from memories.pages.graph.walks import GraphPath

PAGE_SIZE = 15
MAX_ALIASES = 15
MAX_MEMORIES = 5  # in the panel of an entity


class PathHop(NamedTuple):
    """One step of a path in words: the edge as an arrow, and the entity it leads to."""

    arrow: str
    to: EntityLabel
    is_weakest: bool


class TablePage(NamedTuple):
    """One page of a table, and the URLs of the pages beside it."""

    page: Page[Any]
    rows: Sequence[Any]
    previous: str
    next: str


def table_page(rows: Sequence[Any], number: str, url: Callable[[int], str]) -> TablePage:
    """One page of rows; a number out of range gives the nearest."""
    page = Paginator(rows, PAGE_SIZE).get_page(number)
    previous = url(page.previous_page_number()) if page.has_previous() else ""
    return TablePage(page, list(page), previous, url(page.next_page_number()) if page.has_next() else "")


def path_hops(path: GraphPath, labels: Mapping[str, EntityLabel]) -> list[PathHop]:
    """A path in words: —works at→ Arrive, or ←works at— Maya where it is walked backwards."""
    hops = []
    for step in path.steps:
        predicate = without_underscores(step.edge.predicate)
        arrow = f"←{predicate}—" if step.backwards else f"—{predicate}→"
        hops.append(PathHop(arrow, labels[step.to], step.edge is path.weakest and len(path.steps) > 1))
    return hops


def mention_counts(namespace: Namespace, ids: Sequence[str]) -> Mapping[str, int]:
    """How many memories mention each entity."""
    rows = Mention.objects.within(namespace).filter(entity_id__in=ids).values("entity_id")
    return {str(row["entity_id"]): row["count"] for row in rows.annotate(count=Count("id"))}


def edge_memories(namespace: Namespace, edges: Sequence[GraphEdge]) -> Mapping[str, Memory]:
    """The memories that edges were read from."""
    ids = {edge.memory for edge in edges if edge.memory}
    return {str(memory.id): memory for memory in Memory.objects.within(namespace).filter(id__in=ids)}


def entity_context(namespace: Namespace, entity: EntityLabel) -> dict[str, Any]:
    """An entity's aliases, how often it is mentioned, and the newest memories that do."""
    mentions = Mention.objects.within(namespace).filter(entity_id=entity.id)
    active = mentions.filter(memory__status=Status.ACTIVE, memory__level__in=STATEMENTS)
    newest = active.select_related("memory").order_by("-memory_id")[:MAX_MEMORIES]
    aliases = EntityAlias.objects.within(namespace).filter(entity_id=entity.id).order_by("normalised")
    return {
        "aliases": list(aliases.values_list("name", flat=True)[:MAX_ALIASES]),
        "mentions": mentions.count(),
        "newest": [
            (mention.memory, "subject" if str(mention.memory.subject_id) == entity.id else "mentioned")
            for mention in newest
        ],
    }
