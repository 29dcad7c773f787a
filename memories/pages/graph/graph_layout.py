"""Positions of entities: in rings around one of them, or force-directed. Deterministic."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memories.pages.graph.force_layout import force_layout
from memories.pages.graph.radial_tree import (
    IndexArray,
    NeighbourLists,
    neighbour_lists,
    polar_to_xy,
    radial_positions,
    radial_tree,
)
from scoring.term import Array

WIDTH, HEIGHT = 800.0, 560.0  # of the picture
CENTRE = (WIDTH / 2, HEIGHT / 2)
MARGIN = 26.0
MAIN_SHARE = 0.2  # of all entities, from which the largest component gets its own area
MAX_SIDE = 40.0  # of a component's box, per square root of its entities
REST_SHARE = (0.08, 0.45)  # of the height for the other components, minimum and maximum
RING_EXPONENT = 0.75  # narrows the outer rings, as the inner ones have less room
MAX_RADIAL = 40  # entities up to which the radial tree suffices
Box = tuple[float, float, float, float]  # left, top, width, height


class RingLayout(NamedTuple):
    """Positions around a centre, and the radii of each ring."""

    positions: Array
    radii: Mapping[int, tuple[float, float]]


def ring_layout(neighbours: NeighbourLists, root: int, hops: Array) -> RingLayout:
    """Positions in rings by hops around a root; angles are those of the radial tree."""
    angle, distance = radial_tree(neighbours, root).angle, hops**RING_EXPONENT
    # In a crowded ring, neighbours alternate between nearer and further.
    for hop in np.unique(hops[hops > 0]):
        in_ring = np.flatnonzero(hops == hop)
        tracks = min(1 + int(len(in_ring) / (24 * hop)), 5)
        order = in_ring[np.argsort(angle[in_ring], kind="stable")]
        # Equal angles are spread: a child may share the ring of its parent.
        offset = np.arange(len(order)) * np.pi / len(order)
        angle[order] = np.maximum.accumulate(angle[order] - offset) + offset
        distance[order] += (np.arange(len(order)) % tracks - (tracks - 1) / 2) * 0.12
    scale = np.array([WIDTH / 2 - 3 * MARGIN, HEIGHT / 2 - MARGIN]) / max(float(distance.max()), 1.0)
    radii = {int(hop): tuple((hop**RING_EXPONENT * scale).tolist()) for hop in np.unique(hops[hops > 0])}
    return RingLayout(np.array(CENTRE) + polar_to_xy(angle, distance) * scale, radii)


def whole_graph_positions(count: int, ends: IndexArray) -> Array:
    """Positions of a whole graph: the largest component force-directed, the others in rows below."""
    components = connected_components(count, ends)
    sizes = [len(component) for component in components]
    main = 1 if sizes[0] >= MAIN_SHARE * count else 0
    rest = HEIGHT * float(np.clip(sum(sizes[main:]) / count, *REST_SHARE)) if sizes[main:] else 0.0
    rest = rest if main else HEIGHT
    boxes = [(0.0, 0.0, WIDTH, HEIGHT - rest)][:main] + component_boxes(sizes[main:], rest)
    index_in, component_of, positions = np.zeros(count, int), np.zeros(count, int), np.zeros((count, 2))
    for number, component in enumerate(components):
        component_of[component], index_in[component] = number, np.arange(len(component))
    order = np.argsort(component_of[ends[:, 0]], kind="stable")
    cuts = np.searchsorted(component_of[ends[order, 0]], np.arange(1, len(components)))
    for component, inner, box in zip(components, np.split(index_in[ends[order]], cuts), boxes, strict=True):
        start = radial_positions(neighbour_lists(len(component), inner))
        positions[component] = fit_box(force_layout(start, inner) if len(component) > MAX_RADIAL else start, box)
    return positions


def connected_components(count: int, ends: IndexArray) -> list[IndexArray]:
    """The connected components, largest first."""
    label: IndexArray = np.arange(count)
    while True:
        least = np.minimum(label[ends[:, 0]], label[ends[:, 1]])
        lower = label.copy()
        np.minimum.at(lower, ends[:, 0], least)
        np.minimum.at(lower, ends[:, 1], least)
        lower = lower[lower]
        if np.array_equal(lower, label):
            break
        label = lower
    order: IndexArray = np.argsort(label, kind="stable")
    components = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(components, key=lambda component: (-len(component), int(component[0])))


def component_boxes(sizes: Sequence[int], height: float) -> list[Box]:
    """A box for each component, in rows at the bottom of the picture, sized by its entities."""
    if not sizes:
        return []
    side = np.sqrt(np.array(sizes, float))
    side *= min(np.sqrt(WIDTH * height / float((side**2).sum())), MAX_SIDE)
    rows: list[list[int]] = [[]]
    for index in range(len(sizes)):
        if rows[-1] and side[[*rows[-1], index]].sum() > WIDTH:
            rows.append([])
        rows[-1].append(index)
    row_heights = np.array([side[row].max() for row in rows])
    row_heights *= min(height / row_heights.sum(), 1.0)
    boxes, top = [], HEIGHT - height
    for row, row_height in zip(rows, row_heights.tolist(), strict=True):
        widths = side[row] * (min(WIDTH / side[row].sum(), 1.6) if len(rows) > 1 else 1.0)
        lefts = np.cumsum(widths) - widths
        boxes += [(float(left), top, float(width), row_height) for left, width in zip(lefts, widths, strict=True)]
        top += row_height
    return boxes


def fit_box(positions: Array, box: Box) -> Array:
    """Positions stretched into a box, with a margin."""
    left, top, width, height = box
    margin = np.minimum(MARGIN, np.array([width, height]) * 0.28)
    low, high = positions.min(axis=0), positions.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    inner = np.array([width, height]) - 2 * margin
    relative = np.where(high > low, (positions - low) / extent, 0.5)
    return np.asarray(np.array([left, top]) + margin + relative * inner)
