"""The picture as inline SVG, written as text in one go: thousands of edges would keep a template busy for seconds.

Colours and widths are classes of graph.css; whatever comes from outside is escaped here."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.pages.graph.edges import Edge
from memories.pages.graph.labels import Note, labels, short
from memories.pages.graph.layout import CENTRE, HEIGHT, WIDTH
from memories.pages.graph.picture import Picture
from memories.templatetags.numbers import cut_under, figure
from scoring.graph import hop_score

SHADES = 20  # steps of lightness between a score of nothing and of one
Address = Callable[[str], str]


def drawn(picture: Picture, address: Address, says: str) -> SafeString:
    """The whole picture; each entity is a link, and its kind of edges is told by their titles."""
    notes = [*ring_notes(picture), *path_notes(picture)]
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="group" aria-label="{escape(says)}" tabindex="0">',
        *rings(picture),
        '<g class="edges">',
        *lines(picture),
        "</g>",
        *marked(picture),
        '<g class="dots">',
        *dots(picture, address, notes),
        '</g><g class="notes" aria-hidden="true">',
        *(fixed(note.x, note.y, text(note.says, note.look, 0, 4, "middle")) for note in notes),
        "</g></svg>",
    ]
    return mark_safe("".join(parts))


def shade(score: float) -> str:
    """The class of a score's lightness."""
    return f"h{round(SHADES * score)}"


def rings(picture: Picture) -> Iterable[str]:
    """A ring for each number of hops, the outermost first."""
    x, y = CENTRE
    for _, (wide, high) in sorted(picture.radii.items(), reverse=True):
        yield f'<ellipse class="ring" cx="{x:g}" cy="{y:g}" rx="{wide:.1f}" ry="{high:.1f}"/>'


def ring_notes(picture: Picture) -> Iterable[Note]:
    """What each ring stands for, on top of it."""
    x, y = CENTRE
    for hops, (_, high) in picture.radii.items():
        worth = hop_score(hops, picture.walk.hop_scores if picture.walk else ())
        yield Note(x, y - high, f"{told_hops(hops)} · {figure(worth)}", "ring-name")


def path_notes(picture: Picture) -> Iterable[Note]:
    """The kind of each edge of the chosen path, and how sure it is."""
    for step in picture.path.steps if picture.path else ():
        ends = [picture.numbers[step.edge.source], picture.numbers[step.edge.target]]
        x, y = picture.places[ends].mean(axis=0).tolist()
        yield Note(x, y, f"{cut_under(step.edge.predicate)} {figure(step.edge.confidence, 2)}", "said")


def text(says: str, look: str, x: float, y: float, anchor: str) -> str:
    """Words at a place."""
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(says)}</text>'


def fixed(x: float, y: float, inside: str) -> str:
    """What stays as large as it is, however near one looks."""
    return f'<g class="fixed" transform="translate({x:.1f} {y:.1f})">{inside}</g>'


def told_hops(hops: int) -> str:
    """So many hops, in words."""
    return f"{hops} hop{'s' if hops > 1 else ''}"


def lines(picture: Picture) -> Iterable[str]:
    """All edges, one group for each hop and kind."""
    groups: dict[tuple[int, str], list[Edge]] = {}
    for edge in picture.edges:
        hop = picture.walk.hop_of(edge) if picture.walk else 0
        groups.setdefault((hop, edge.predicate), []).append(edge)
    for (hop, predicate), edges in sorted(groups.items(), reverse=True):
        look = f' class="{shade(hop_score(hop, picture.walk.hop_scores))}"' if picture.walk else ""
        yield f"<g{look}><title>{escape(cut_under(predicate))}</title>"
        for edge in edges:
            one, other = picture.numbers[edge.source], picture.numbers[edge.target]
            yield f'<path data-e="{one} {other}" d="{line(picture, edge)}"/>'
        yield "</g>"


def line(picture: Picture, edge: Edge) -> str:
    """From the one end to the other."""
    (x, y), (to_x, to_y) = picture.places[[picture.numbers[edge.source], picture.numbers[edge.target]]].tolist()
    return f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"


def marked(picture: Picture) -> Iterable[str]:
    """The chosen path; its weakest edge is dashed."""
    if picture.path is None:
        return
    yield '<g class="path">'
    for step in picture.path.steps:
        look = ' class="weakest"' if step.edge is picture.path.weakest else ""
        d = line(picture, step.edge)
        yield f'<path class="under" d="{d}"/><path{look} d="{d}"/>'
    yield "</g>"


def dots(picture: Picture, address: Address, notes: Sequence[Note]) -> Iterable[str]:
    """Each entity as a link, the most important on top; those without a name in the picture are in the table too."""
    names = [picture.names[id].name for id in picture.ids]
    placed = labels(picture.places, picture.sizes, names, (WIDTH, HEIGHT), notes)
    on_path = {step.to for step in picture.path.steps} if picture.path else set()
    for number in range(len(names) - 1, -1, -1):
        id, name = picture.ids[number], names[number]
        (x, y), label = picture.places[number].tolist(), placed.get(number)
        look, dot, told = looks(picture, id, float(picture.sizes[number]))
        look += " on" if id in on_path else ""
        said = text(short(name), f"z{label.zoom}", label.x, label.y, label.anchor) if label else ""
        skip = "" if label and label.zoom == 1 else ' tabindex="-1"'
        yield (
            f'<a href="{escape(address(id))}" data-n="{number}"{skip} class="{look}" '
            f'transform="translate({x:.1f} {y:.1f})"><g><title>{escape(name)}\n{told}</title>{dot}{said}</g></a>'
        )


def looks(picture: Picture, id: str, size: float) -> tuple[str, str, str]:
    """An entity's class, its shape, which tells its hop, and what is known of it."""
    if picture.walk is None:
        many = picture.joined[id]
        return "any", shape(1, size), f"{many} edge{'s' if many > 1 else ''}"
    if id == picture.walk.root:
        return "root", shape(1, max(size, 7)), "from here"
    one = picture.walk.reached[id]
    told = f"{told_hops(one.hops)}, path {figure(one.confidence, 2)}, score {figure(one.score, 4)}"
    return shade(hop_score(one.hops, picture.walk.hop_scores)), shape(one.hops, size), told


def shape(hops: int, size: float) -> str:
    """A circle at one hop, a square at two, a diamond further away."""
    half, tip = size * 0.9, size * 1.25
    if hops == 1:
        return f'<circle r="{size:.1f}"/>'
    if hops == 2:
        return f'<rect x="{-half:.1f}" y="{-half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}"/>'
    return f'<path d="M0 {-tip:.1f}L{tip:.1f} 0L0 {tip:.1f}L{-tip:.1f} 0Z"/>'


def scale(hop_scores: Sequence[float]) -> list[dict[str, Any]]:
    """What shapes and shades mean."""
    return [
        {"shade": shade(score), "shape": mark_safe(shape(hops, 5)), "says": told_hops(hops), "score": score}
        for hops, score in enumerate(hop_scores, start=1)
    ]
