"""View of the Graph page: the whole graph, or what is reached from one entity."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_GET

from memories.contracts.number_format import format_count
from memories.models import Namespace
from memories.pages.access import members_only
from memories.pages.graph.charts import graph_svg, hop_legend, hops_text
from memories.pages.graph.edge_list import (
    MAX_READ,
    EdgeFilter,
    GraphEdge,
    edges_around,
    entities_of_edges,
    newest_edges,
    predicate_counts,
)
from memories.pages.graph.entity_lookup import EntityLabel, EntityLookup, entity_labels, match_entity
from memories.pages.graph.forms import EDGE_PARAMS, HOP_PARAMS, GraphQuery
from memories.pages.graph.graph_picture import GraphPicture, walk_picture, whole_graph_picture
from memories.pages.graph.graph_tables import edge_memories, entity_context, mention_counts, path_hops, table_page
from memories.pages.graph.walks import GraphPath, GraphWalk
from memories.web.layout import render_page
from scoring.graph import hop_score

MAX_DRAWN = 2_000  # edges
MAX_OPTIONS = 200  # names in the datalist
MAX_PREDICATES = 10  # shown at once


@require_GET
@members_only
def graph_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Draw the whole graph, or walk it from an entity."""
    query = GraphQuery.parse(request.GET)
    lookup = match_entity(namespace, query.entity) if query.entity else EntityLookup(None, [])
    page_numbers = {name: request.GET.get(name, "") for name in ("page", "reached")}
    root = lookup.entity
    if root:
        panels = walk_context(namespace, query, root, page_numbers)
    else:
        panels = whole_graph_context(namespace, query, page_numbers)
    context = {
        "query": query,
        "hidden_fields": {
            name: value for name, value in query.query_params().items() if name in ("entity", "to", "predicate")
        },
        "kept_fields": query.query_params(entity="", to=""),
        "whole_graph_url": query.url(entity="", to=""),
        "root": root,
        "others": [(entity, query.url(entity=entity.id, to="")) for entity in lookup.others],
        "groups": query.slider_groups((*HOP_PARAMS, *EDGE_PARAMS) if root else EDGE_PARAMS),
        "problems": query.problems,
        "predicates": predicate_options(namespace, query),
        "api": f"{reverse('home')}api/v1/{namespace.slug}/",
        **panels,
    }
    if root and not getattr(request, "htmx", False):
        context |= {"lab_query": f"What do we know about {root.name}?", **entity_context(namespace, root)}
    response = render_page(request, "memories/graph.html", context, partial="shown")
    response["HX-Replace-Url"] = query.url() if query.query_params() else request.path
    return response


def predicate_options(namespace: Namespace, query: GraphQuery) -> dict[str, Any]:
    """The predicates with their counts, each with the URL that selects or clears it."""
    counts = predicate_counts(namespace, query.params.least_confidence)
    if query.predicate:
        counts = {query.predicate: counts.get(query.predicate, 0), **counts}
    options = [
        {
            "name": name,
            "count": count,
            "selected": name == query.predicate,
            "url": query.url(predicate="" if name == query.predicate else name),
        }
        for name, count in counts.items()
    ]
    return {"first": options[:MAX_PREDICATES], "rest": options[MAX_PREDICATES:]}


def whole_graph_context(namespace: Namespace, query: GraphQuery, page_numbers: Mapping[str, str]) -> dict[str, Any]:
    """The whole graph, its best connected entities, and its edges."""
    edge_list = newest_edges(namespace, EdgeFilter(query.predicate, query.params.least_confidence))
    edges = edge_list.edges[:MAX_DRAWN]
    if not edges:
        return {}
    picture = whole_graph_picture(edges, entity_labels(namespace, entities_of_edges(edges)))
    entity_page = table_page(
        picture.ids, page_numbers["reached"], lambda page: f"{query.url(reached=str(page))}#reached"
    )
    mentions = mention_counts(namespace, entity_page.rows)
    entities = len(picture.ids)
    label = f"The graph: {entities} entities, {len(edges)} edges. Each entity is a link; the tables list them all."
    total = f"{'the newest ' if edge_list.truncated else ''}{format_count(len(edge_list.edges))}"
    drawn = f"The {format_count(len(edges))} edges between the best connected are drawn, of {total}."
    return {
        "picture": graph_svg(picture, query.url_builder("entity", to=""), label),
        "view_key": "whole",
        "headline": f"{format_count(entities)} entit{pluralize(entities, 'y,ies')}, "
        f"{format_count(len(edges))} edge{pluralize(len(edges))}",
        "notes": [
            *([drawn] if len(edges) < len(edge_list.edges) else []),
            "Choose an entity to walk from it.",
        ],
        "entities_headline": f"{picture.labels[picture.ids[0]].name} is best connected",
        "entity_page": entity_page,
        "rows": [
            {
                "entity": picture.labels[id],
                "url": query.url(entity=id, to=""),
                "edges": picture.degrees[id],
                "mentions": mentions.get(id, 0),
            }
            for id in entity_page.rows
        ],
        **edge_table_context(namespace, query, picture, page_numbers["page"]),
    }


def walk_context(
    namespace: Namespace, query: GraphQuery, root: EntityLabel, page_numbers: Mapping[str, str]
) -> dict[str, Any]:
    """What is reached from an entity, the path to a chosen one, and the edges between them all."""
    params = query.params
    edge_filter = EdgeFilter(query.predicate, params.least_confidence)
    edge_list = edges_around(namespace, root.id, params.max_hops, edge_filter)
    walk = GraphWalk(root.id, edge_list.edges, params.hop_scores)
    target = match_entity(namespace, query.to).entity if query.to else None
    path = walk.path(target.id) if target else None
    edges = include_path(walk.inner_edges[:MAX_DRAWN], path)
    entity_page = table_page(
        list(walk.reached_entities), page_numbers["reached"], lambda page: f"{query.url(reached=str(page))}#reached"
    )
    paths = {id: reached_path for id in entity_page.rows if (reached_path := walk.path(id))}
    steps = [step.edge for reached_path in paths.values() for step in reached_path.steps]
    labels = {root.id: root, **entity_labels(namespace, entities_of_edges([*edges, *steps]))}
    picture = walk_picture(walk, edges, labels, path)
    mentions = mention_counts(namespace, entity_page.rows)
    hops = Counter(reached.hops for reached in walk.reached_entities.values())
    reach = ", ".join(f"{hops[hop]:,} in {hops_text(hop)}" for hop in sorted(hops)) or "nothing is reached"
    best = next(iter(walk.reached_entities), None)
    label = f"From {root.name}: {reach}. Each entity is a link to the path that leads there; the tables list them all."
    return {
        "picture": graph_svg(picture, query.url_builder("to"), label),
        "view_key": root.id,
        "headline": f"From {root.name}: {reach}",
        "notes": walk_notes(query, len(edges), len(walk.inner_edges), truncated=edge_list.truncated),
        "entities_headline": f"{labels[best].name} is reached best" if best else "Nothing is reached",
        "legend": hop_legend(params.hop_scores),
        "entity_page": entity_page,
        "rows": [
            {
                "entity": labels[id],
                "url": query.url(to=id),
                "reached": reached_path.reached,
                "hops": path_hops(reached_path, labels),
                "mentions": mentions.get(id, 0),
            }
            for id, reached_path in paths.items()
        ],
        "unfiltered_url": query.url(predicate="", **{"p.least_confidence": ""}),
        "target": target,
        "target_problem": target_problem(query, root, target) if query.to and not path else "",
        "path": path,
        "path_hops": path_hops(path, labels) if path else [],
        "path_hop_score": hop_score(path.reached.hops, params.hop_scores) if path else 0,
        "target_url": query.url(entity=target.id, to="") if target else "",
        **edge_table_context(namespace, query, picture, page_numbers["page"]),
    }


def include_path(edges: list[GraphEdge], path: GraphPath | None) -> list[GraphEdge]:
    """The drawn edges, including those of the chosen path beyond the limit."""
    drawn = {edge.id for edge in edges}
    return edges + [step.edge for step in path.steps if step.edge.id not in drawn] if path else edges


def walk_notes(query: GraphQuery, drawn: int, total: int, *, truncated: bool) -> list[str]:
    """What limits the picture of a walk, and what to do with it."""
    notes = list[str]()
    if drawn < total:
        notes.append(f"The {format_count(drawn)} edges of the best reached are drawn, of {format_count(total)}.")
    if truncated:
        notes.append(
            f"Only the strongest {format_count(MAX_READ)} edges around were read, so there may be better paths."
        )
    if changed := len(query.changed):
        notes.append(f"{changed} value{pluralize(changed)} changed.")
    return [*notes, "Choose an entity to see the path to it."]


def target_problem(query: GraphQuery, root: EntityLabel, target: EntityLabel | None) -> str:
    """Why there is no path to the chosen entity."""
    if target is None:
        return f"No entity is called “{query.to}”, so no path is shown."
    if target == root:
        return f"The walk starts at {target.name}, so there is no path to it."
    hops = hops_text(len(query.params.hop_scores))
    return f"{target.name} is not reached from {root.name} within {hops} over these edges."


def edge_table_context(namespace: Namespace, query: GraphQuery, picture: GraphPicture, page: str) -> dict[str, Any]:
    """The names the field offers, and one page of the drawn edges."""
    edge_page = table_page(picture.edges, page, lambda number: f"{query.url(page=str(number))}#edges")
    edges: Sequence[GraphEdge] = edge_page.rows
    memories = edge_memories(namespace, edges)
    return {
        "entity_options": [picture.labels[id].name for id in picture.ids[:MAX_OPTIONS]],
        "edge_count": len(picture.edges),
        "edge_page": edge_page,
        "edge_rows": [
            {
                "source": picture.labels[edge.source],
                "source_url": query.url(entity=edge.source, to=""),
                "edge": edge,
                "target": picture.labels[edge.target],
                "target_url": query.url(entity=edge.target, to=""),
                "memory": memories.get(edge.memory) if edge.memory else None,
            }
            for edge in edges
        ],
    }
