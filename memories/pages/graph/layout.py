"""Where entities lie in a picture: in rings around one of them, or where their edges pull them. The same each time."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memories.pages.graph.fans import Joined, Numbers, fan, joined, opened, outward
from memories.pages.graph.forces import settled
from scoring.term import Array

WIDTH, HEIGHT = 800.0, 560.0  # of the picture
CENTRE = (WIDTH / 2, HEIGHT / 2)
MARGIN = 26.0
OWN = 0.2  # of all entities: the largest part has room of its own from there on
WIDEST = 40.0  # of such a part, for each entity of its side
BELOW = (0.08, 0.45)  # of the picture that the other parts take, at least and at most
NARROWING = 0.75  # of the rings outwards: the inner ones have less room
FEW = 40  # entities that need no pulling
Box = tuple[float, float, float, float]  # left, top, width, height


class Rings(NamedTuple):
    """Places around one in the middle, and how wide and high each ring is."""

    places: Array
    radii: Mapping[int, tuple[float, float]]


def rings(beside: Joined, root: int, ring: Array) -> Rings:
    """Places in rings around a root: the ring is given, the direction is that of its fan."""
    angle, out = fan(beside, root).angle, ring**NARROWING
    # Where a ring is crowded, neighbours stand in turn nearer and further.
    for hop in np.unique(ring[ring > 0]):
        there = np.flatnonzero(ring == hop)
        turns = min(1 + int(len(there) / (24 * hop)), 5)
        order = there[np.argsort(angle[there], kind="stable")]
        # Nobody stands where another does, as a child would that came into the ring of its parent.
        least = np.arange(len(order)) * np.pi / len(order)
        angle[order] = np.maximum.accumulate(angle[order] - least) + least
        out[order] += (np.arange(len(order)) % turns - (turns - 1) / 2) * 0.12
    half = np.array([WIDTH / 2 - 3 * MARGIN, HEIGHT / 2 - MARGIN]) / max(float(out.max()), 1.0)
    radii = {int(hop): tuple((hop**NARROWING * half).tolist()) for hop in np.unique(ring[ring > 0])}
    return Rings(np.array(CENTRE) + outward(angle, out) * half, radii)


def pulled(count: int, ends: Numbers) -> Array:
    """Places of a whole graph: the largest part as its edges pull it, the others in rows beneath."""
    parts = connected(count, ends)
    sizes = [len(part) for part in parts]
    first = 1 if sizes[0] >= OWN * count else 0
    below = HEIGHT * float(np.clip(sum(sizes[first:]) / count, *BELOW)) if sizes[first:] else 0.0
    below = below if first else HEIGHT
    boxes = [(0.0, 0.0, WIDTH, HEIGHT - below)][:first] + rows(sizes[first:], below)
    number, part_of, places = np.zeros(count, int), np.zeros(count, int), np.zeros((count, 2))
    for place, part in enumerate(parts):
        part_of[part], number[part] = place, np.arange(len(part))
    order = np.argsort(part_of[ends[:, 0]], kind="stable")
    cuts = np.searchsorted(part_of[ends[order, 0]], np.arange(1, len(parts)))
    for part, inside, box in zip(parts, np.split(number[ends[order]], cuts), boxes, strict=True):
        beside = joined(len(part), inside)
        spread = opened(beside)
        places[part] = boxed(settled(spread, inside) if len(part) > FEW else spread, box)
    return places


def connected(count: int, ends: Numbers) -> list[Numbers]:
    """The parts that no edge joins, the largest first."""
    label: Numbers = np.arange(count)
    while True:
        least = np.minimum(label[ends[:, 0]], label[ends[:, 1]])
        lower = label.copy()
        np.minimum.at(lower, ends[:, 0], least)
        np.minimum.at(lower, ends[:, 1], least)
        lower = lower[lower]
        if np.array_equal(lower, label):
            break
        label = lower
    order: Numbers = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(parts, key=lambda part: (-len(part), int(part[0])))


def rows(sizes: Sequence[int], height: float) -> list[Box]:
    """A box for each part, in rows at the foot of the picture, each as wide as its share of them all."""
    if not sizes:
        return []
    side = np.sqrt(np.array(sizes, float))
    side *= min(np.sqrt(WIDTH * height / float((side**2).sum())), WIDEST)
    lines: list[list[int]] = [[]]
    for place in range(len(sizes)):
        if lines[-1] and side[[*lines[-1], place]].sum() > WIDTH:
            lines.append([])
        lines[-1].append(place)
    tall = np.array([side[line].max() for line in lines])
    tall *= min(height / tall.sum(), 1.0)
    boxes, top = [], HEIGHT - height
    for line, depth in zip(lines, tall.tolist(), strict=True):
        wide = side[line] * (min(WIDTH / side[line].sum(), 1.6) if len(lines) > 1 else 1.0)
        lefts = np.cumsum(wide) - wide
        boxes += [(float(left), top, float(width), depth) for left, width in zip(lefts, wide, strict=True)]
        top += depth
    return boxes


def boxed(places: Array, box: Box) -> Array:
    """Places stretched into a box, with a margin."""
    left, top, width, height = box
    margin = np.minimum(MARGIN, np.array([width, height]) * 0.28)
    low, high = places.min(axis=0), places.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    inner = np.array([width, height]) - 2 * margin
    middle = np.where(high > low, (places - low) / extent, 0.5)
    return np.asarray(np.array([left, top]) + margin + middle * inner)
