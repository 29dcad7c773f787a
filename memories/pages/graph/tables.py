"""Everything in the picture as rows: entities, paths in words, edges with the memory that tells each, page by page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count

from memories.models import EntityAlias, Memory, Mention, Namespace
from memories.models.choices import STATEMENTS, Status
from memories.pages.graph.edges import Edge
from memories.pages.graph.naming import Called
from memories.pages.graph.walks import Path
from memories.templatetags.numbers import cut_under

LONG = 15  # rows of a page
FEW = 5  # memories that an entity's panel names


class Hop(NamedTuple):
    """One step of a path in words: the edge as an arrow, and where it leads."""

    arrow: str
    to: Called
    weakest: bool


class Turned(NamedTuple):
    """One page of a table, and the addresses of those beside it."""

    page: Page[Any]
    rows: Sequence[Any]
    before: str
    after: str


def turned(rows: Sequence[Any], number: str, url: Callable[[int], str]) -> Turned:
    """One page of rows; a number that there is not leads to the nearest."""
    page = Paginator(rows, LONG).get_page(number)
    before = url(page.previous_page_number()) if page.has_previous() else ""
    return Turned(page, list(page), before, url(page.next_page_number()) if page.has_next() else "")


def in_words(path: Path, names: Mapping[str, Called]) -> list[Hop]:
    """A path as one reads it: —works at→ Arrive, or ←works at— Maya where it is walked backwards."""
    hops = []
    for step in path.steps:
        kind = cut_under(step.edge.predicate)
        arrow = f"←{kind}—" if step.back else f"—{kind}→"
        hops.append(Hop(arrow, names[step.to], step.edge is path.weakest and len(path.steps) > 1))
    return hops


def mentioned(namespace: Namespace, ids: Sequence[str]) -> Mapping[str, int]:
    """How many memories name each of some entities."""
    rows = Mention.objects.within(namespace).filter(entity_id__in=ids).values("entity_id")
    return {str(row["entity_id"]): row["many"] for row in rows.annotate(many=Count("id"))}


def told_by(namespace: Namespace, edges: Sequence[Edge]) -> Mapping[str, Memory]:
    """The memories that tell some edges."""
    ids = {edge.memory for edge in edges if edge.memory}
    return {str(one.id): one for one in Memory.objects.within(namespace).filter(id__in=ids)}


def about(namespace: Namespace, entity: Called) -> dict[str, Any]:
    """An entity's other names, how often it is named, and the newest memories that do."""
    mentions = Mention.objects.within(namespace).filter(entity_id=entity.id)
    active = mentions.filter(memory__status=Status.ACTIVE, memory__level__in=STATEMENTS)
    aliases = EntityAlias.objects.within(namespace).filter(entity_id=entity.id).order_by("normalised")
    return {
        "aliases": list(aliases.values_list("name", flat=True)[:LONG]),
        "mentions": mentions.count(),
        "newest": [one.memory for one in active.select_related("memory").order_by("-memory_id")[:FEW]],
    }
