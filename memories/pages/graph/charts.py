"""The picture as inline SVG, built as a string: rendering thousands of edges by template would take seconds.

Colours and widths are classes of graph.css; user content is escaped here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.contracts.number_format import format_number, without_underscores
from memories.pages.chart_parts import truncate_label
from memories.pages.graph.edge_list import GraphEdge
from memories.pages.graph.graph_layout import CENTRE, HEIGHT, WIDTH
from memories.pages.graph.graph_picture import GraphPicture
from memories.pages.graph.svg_labels import SvgNote, place_labels
from scoring.graph import hop_score

SHADES = 20  # steps of lightness between a score of 0 and of 1
UrlBuilder = Callable[[str], str]


def graph_svg(picture: GraphPicture, entity_url: UrlBuilder, label: str) -> SafeString:
    """The whole picture; each entity is a link."""
    notes = [*ring_notes(picture), *path_notes(picture)]
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="group" '
        f'aria-label="{escape(label)}" tabindex="0">',
        *rings_svg(picture),
        '<g class="edges">',
        *edges_svg(picture),
        "</g>",
        *path_svg(picture),
        '<g class="dots">',
        *entities_svg(picture, entity_url, notes),
        '</g><g class="notes" aria-hidden="true">',
        *(fixed_size_svg(note.x, note.y, text_svg(note.text, note.css_class, 0, 4, "middle")) for note in notes),
        "</g></svg>",
    ]
    return mark_safe("".join(parts))


def shade_class(score: float) -> str:
    """CSS class of a score's lightness."""
    return f"h{round(SHADES * score)}"


def rings_svg(picture: GraphPicture) -> Iterable[str]:
    """A ring for each number of hops, outermost first."""
    x, y = CENTRE
    for _, (rx, ry) in sorted(picture.radii.items(), reverse=True):
        yield f'<ellipse class="ring" cx="{x:g}" cy="{y:g}" rx="{rx:.1f}" ry="{ry:.1f}"/>'


def ring_notes(picture: GraphPicture) -> Iterable[SvgNote]:
    """The hops and score of each ring, at its top."""
    x, y = CENTRE
    for hops, (_, ry) in picture.radii.items():
        score = hop_score(hops, picture.walk.hop_scores if picture.walk else ())
        yield SvgNote(x, y - ry, f"{hops_text(hops)} · {format_number(score)}", "ring-name")


def path_notes(picture: GraphPicture) -> Iterable[SvgNote]:
    """The predicate and confidence of each edge of the chosen path."""
    for step in picture.path.steps if picture.path else ():
        ends = [picture.indices[step.edge.source], picture.indices[step.edge.target]]
        x, y = picture.positions[ends].mean(axis=0).tolist()
        yield SvgNote(
            x, y, f"{without_underscores(step.edge.predicate)} {format_number(step.edge.confidence, 2)}", "edge-name"
        )


def text_svg(text: str, css_class: str, x: float, y: float, anchor: str) -> str:
    """A text element."""
    return f'<text class="{css_class}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def fixed_size_svg(x: float, y: float, content: str) -> str:
    """A group that keeps its size when the picture is zoomed."""
    return f'<g class="fixed" transform="translate({x:.1f} {y:.1f})">{content}</g>'


def hops_text(hops: int) -> str:
    """A number of hops in words."""
    return f"{hops} hop{'s' if hops > 1 else ''}"


def edges_svg(picture: GraphPicture) -> Iterable[str]:
    """All edges, grouped by hop and predicate."""
    groups: dict[tuple[int, str], list[GraphEdge]] = {}
    for edge in picture.edges:
        hop = picture.walk.edge_hop(edge) if picture.walk else 0
        groups.setdefault((hop, edge.predicate), []).append(edge)
    for (hop, predicate), edges in sorted(groups.items(), reverse=True):
        css_class = f' class="{shade_class(hop_score(hop, picture.walk.hop_scores))}"' if picture.walk else ""
        yield f"<g{css_class}><title>{escape(without_underscores(predicate))}</title>"
        for edge in edges:
            source, target = picture.indices[edge.source], picture.indices[edge.target]
            yield f'<path data-e="{source} {target}" d="{edge_path_data(picture, edge)}"/>'
        yield "</g>"


def edge_path_data(picture: GraphPicture, edge: GraphEdge) -> str:
    """The path data of an edge."""
    ends = [picture.indices[edge.source], picture.indices[edge.target]]
    (x, y), (to_x, to_y) = picture.positions[ends].tolist()
    return f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"


def path_svg(picture: GraphPicture) -> Iterable[str]:
    """The chosen path; its weakest edge is dashed."""
    if picture.path is None:
        return
    yield '<g class="path">'
    for step in picture.path.steps:
        css_class = ' class="weakest"' if step.edge is picture.path.weakest else ""
        data = edge_path_data(picture, step.edge)
        yield f'<path class="under" d="{data}"/><path{css_class} d="{data}"/>'
    yield "</g>"


def entities_svg(picture: GraphPicture, entity_url: UrlBuilder, notes: Sequence[SvgNote]) -> Iterable[str]:
    """Each entity as a link, the most important on top; those without a label are in the table too."""
    names = [picture.labels[id].name for id in picture.ids]
    labels = place_labels(picture.positions, picture.dot_radii, names, (WIDTH, HEIGHT), notes)
    on_path = {step.to for step in picture.path.steps} if picture.path else set()
    for index in range(len(names) - 1, -1, -1):
        id, name = picture.ids[index], names[index]
        (x, y), label = picture.positions[index].tolist(), labels.get(index)
        css_class, dot, title = entity_style(picture, id, float(picture.dot_radii[index]))
        css_class += " on" if id in on_path else ""
        text = text_svg(truncate_label(name), f"z{label.zoom}", label.x, label.y, label.anchor) if label else ""
        skip = "" if label and label.zoom == 1 else ' tabindex="-1"'
        yield (
            f'<a href="{escape(entity_url(id))}" data-n="{index}"{skip} class="{css_class}" '
            f'transform="translate({x:.1f} {y:.1f})"><g><title>{escape(name)}\n{title}</title>{dot}{text}</g></a>'
        )


def entity_style(picture: GraphPicture, id: str, radius: float) -> tuple[str, str, str]:
    """An entity's CSS class, its shape, which shows its hop, and its title."""
    if picture.walk is None:
        degree = picture.degrees[id]
        return "any", hop_shape(1, radius), f"{degree} edge{'s' if degree > 1 else ''}"
    if id == picture.walk.root:
        return "root", hop_shape(1, max(radius, 7)), "start of the walk"
    reached = picture.walk.reached_entities[id]
    confidence, path_score = format_number(reached.confidence, 2), format_number(reached.score, 4)
    title = f"{hops_text(reached.hops)}, path {confidence}, score {path_score}"
    score = hop_score(reached.hops, picture.walk.hop_scores)
    return shade_class(score), hop_shape(reached.hops, radius), title


def hop_shape(hops: int, radius: float) -> str:
    """A circle at one hop, a square at two, a diamond beyond."""
    half, tip = radius * 0.9, radius * 1.25
    if hops == 1:
        return f'<circle r="{radius:.1f}"/>'
    if hops == 2:
        return f'<rect x="{-half:.1f}" y="{-half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}"/>'
    return f'<path d="M0 {-tip:.1f}L{tip:.1f} 0L0 {tip:.1f}L{-tip:.1f} 0Z"/>'


def hop_legend(hop_scores: Sequence[float]) -> list[dict[str, Any]]:
    """The meaning of shapes and shades."""
    return [
        {
            "shade": shade_class(score),
            "shape": mark_safe(hop_shape(hops, 5)),
            "text": hops_text(hops),
            "score": score,
        }
        for hops, score in enumerate(hop_scores, start=1)
    ]
