"""The Graph page: the whole graph, or what is reached from one entity, drawn and told."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from memories.models import Namespace
from memories.pages.access import members_only
from memories.pages.graph.address import EDGES, PATHS, Asked
from memories.pages.graph.drawing import drawn, scale, told_hops
from memories.pages.graph.edges import READ, Edge, Wanted, around, newest, predicates
from memories.pages.graph.naming import Called, Meant, meant, named
from memories.pages.graph.picture import Picture, walked, whole
from memories.pages.graph.tables import about, in_words, mentioned, told_by, turned
from memories.pages.graph.walks import Path, Walk
from memories.web.layout import render_page
from scoring.graph import hop_score

DRAWN = 2_000  # edges
OFFERED = 200  # names that the field proposes
KINDS = 10  # predicates that are offered at once


@require_GET
@members_only
def graph(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Draw the whole graph, or walk it from an entity."""
    asked = Asked.of(request.GET)
    found = meant(namespace, asked.entity) if asked.entity else Meant(None, [])
    turns = {name: request.GET.get(name, "") for name in ("page", "reached")}
    told = from_one(namespace, asked, found.entity, turns) if found.entity else of_all(namespace, asked, turns)
    context = {
        "asked": asked,
        "said": {name: value for name, value in asked.kept().items() if name in ("entity", "to", "predicate")},
        "kept": asked.kept(entity="", to=""),
        "whole": asked.url(entity="", to=""),
        "chosen": found.entity,
        "others": [{"entity": one, "url": asked.url(entity=one.id, to="")} for one in found.others],
        "groups": asked.groups((*PATHS, *EDGES) if found.entity else EDGES),
        "problems": asked.problems,
        "changed": len(asked.moved),
        "narrowed": bool(asked.predicate or asked.params.least_confidence),
        "kinds": kinds(namespace, asked),
        "read": READ,
        "api": f"{reverse('home')}api/v1/{namespace.slug}/",
        **told,
    }
    if found.entity and not getattr(request, "htmx", False):
        context |= {"question": f"What do we know about {found.entity.name}?", **about(namespace, found.entity)}
    response = render_page(request, "memories/graph.html", context, partial="shown")
    response["HX-Replace-Url"] = asked.url() if asked.kept() else request.path
    return response


def kinds(namespace: Namespace, asked: Asked) -> dict[str, Any]:
    """The predicates with their counts, each with the address that chooses it, or lets go of it."""
    counts = predicates(namespace, asked.params.least_confidence)
    if asked.predicate:
        counts = {asked.predicate: counts.get(asked.predicate, 0), **counts}
    options = [
        {
            "name": name,
            "count": many,
            "chosen": name == asked.predicate,
            "url": asked.url(predicate="" if name == asked.predicate else name),
        }
        for name, many in counts.items()
    ]
    return {"first": options[:KINDS], "rest": options[KINDS:]}


def of_all(namespace: Namespace, asked: Asked, turns: Mapping[str, str]) -> dict[str, Any]:
    """The whole graph, its best connected entities, and its edges."""
    read = newest(namespace, Wanted(asked.predicate, asked.params.least_confidence))
    edges = read.edges[:DRAWN]
    if not edges:
        return {}
    picture = whole(edges, named(namespace, ends(edges)))
    pages = turned(picture.ids, turns["reached"], lambda page: f"{asked.url(reached=str(page))}#reached")
    many = mentioned(namespace, pages.rows)
    says = f"The graph: {len(picture.ids)} entities, {len(edges)} edges. Each entity is a link; the tables tell all."
    return {
        "picture": drawn(picture, asked.opening("entity", to=""), says),
        "key": "whole",
        "all": len(read.edges),
        "more": read.more,
        "entities": len(picture.ids),
        "entity_pages": pages,
        "rows": [
            {
                "entity": picture.names[id],
                "url": asked.url(entity=id, to=""),
                "edges": picture.joined[id],
                "mentions": many.get(id, 0),
            }
            for id in pages.rows
        ],
        **shown(namespace, asked, picture, turns["page"]),
    }


def from_one(namespace: Namespace, asked: Asked, root: Called, turns: Mapping[str, str]) -> dict[str, Any]:
    """What is reached from an entity, the path to a chosen one, and the edges between them all."""
    params = asked.params
    read = around(namespace, root.id, params.max_hops, Wanted(asked.predicate, params.least_confidence))
    walk = Walk(root.id, read.edges, params.hop_scores)
    target = meant(namespace, asked.to).entity if asked.to else None
    path = walk.path(target.id) if target else None
    edges = with_path(walk.inside[:DRAWN], path)
    pages = turned(list(walk.reached), turns["reached"], lambda page: f"{asked.url(reached=str(page))}#reached")
    paths = {id: one for id in pages.rows if (one := walk.path(id))}
    steps = [step.edge for one in paths.values() for step in one.steps]
    names = {root.id: root, **named(namespace, ends([*edges, *steps]))}
    picture = walked(walk, edges, names, path)
    many = mentioned(namespace, pages.rows)
    hops = Counter(one.hops for one in walk.reached.values())
    reach = ", ".join(f"{hops[hop]:,} in {told_hops(hop)}" for hop in sorted(hops)) or "nothing is reached"
    says = f"From {root.name}: {reach}. Each entity is a link to the path that leads there; the tables tell all."
    return {
        "picture": drawn(picture, asked.opening("to"), says),
        "key": root.id,
        "all": len(walk.inside),
        "more": read.more,
        "reach": reach,
        "scale": scale(params.hop_scores),
        "entity_pages": pages,
        "rows": [
            {
                "entity": names[id],
                "url": asked.url(to=id),
                "path": one,
                "words": in_words(one, names),
                "mentions": many.get(id, 0),
            }
            for id, one in paths.items()
        ],
        "unfiltered": asked.url(predicate="", **{"p.least_confidence": ""}),
        "target": target,
        "path": path,
        "words": in_words(path, names) if path else [],
        "path_worth": hop_score(path.reached.hops, params.hop_scores) if path else 0,
        "onward": asked.url(entity=target.id, to="") if target else "",
        **shown(namespace, asked, picture, turns["page"]),
    }


def with_path(edges: list[Edge], path: Path | None) -> list[Edge]:
    """The drawn edges, those of the chosen path among them even where it would be cut off."""
    drawn_already = {edge.id for edge in edges}
    return edges + [step.edge for step in path.steps if step.edge.id not in drawn_already] if path else edges


def ends(edges: Iterable[Edge]) -> set[str]:
    """The entities that edges join."""
    return {end for edge in edges for end in (edge.source, edge.target)}


def shown(namespace: Namespace, asked: Asked, picture: Picture, page: str) -> dict[str, Any]:
    """What both views tell of a picture: who is first in it, whom the field offers, and a page of its edges."""
    pages = turned(picture.edges, page, lambda number: f"{asked.url(page=str(number))}#edges")
    edges: Sequence[Edge] = pages.rows
    memories = told_by(namespace, edges)
    first = list(picture.walk.reached)[:1] if picture.walk else picture.ids[:1]
    return {
        "best": picture.names[first[0]] if first else None,
        "offered": [picture.names[id].name for id in picture.ids[:OFFERED]],
        "count": len(picture.edges),
        "edge_pages": pages,
        "edge_rows": [
            {
                "source": picture.names[one.source],
                "source_url": asked.url(entity=one.source, to=""),
                "edge": one,
                "target": picture.names[one.target],
                "target_url": asked.url(entity=one.target, to=""),
                "memory": memories.get(one.memory) if one.memory else None,
            }
            for one in edges
        ],
    }
