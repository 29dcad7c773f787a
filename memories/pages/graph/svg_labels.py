"""Labels that do not overlap, the most important first; more of them fit when zoomed in."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memories.pages.chart_parts import truncate_label
from scoring.term import Array

ZOOM_LEVELS = (1, 2, 4)
MAX_TRIED = 160  # labels per zoom level
LETTER_WIDTH, LINE_HEIGHT = 6.6, 14.0
GAP = 3.0


class SvgLabel(NamedTuple):
    """A label relative to its dot, its text anchor, and the zoom level from which it is shown."""

    x: float
    y: float
    anchor: str
    zoom: int


class SvgNote(NamedTuple):
    """A text centred at a position, always shown."""

    x: float
    y: float
    text: str
    css_class: str


CENTRED = SvgLabel(0, 4, "middle", 1)


def place_labels(
    positions: Array, radii: Array, names: Sequence[str], size: tuple[float, float], notes: Sequence[SvgNote]
) -> dict[int, SvgLabel]:
    """A label for each dot that has room for one, in order of importance."""
    labels: dict[int, SvgLabel] = {}
    for zoom in ZOOM_LEVELS:
        taken = [label_box(positions[index] * zoom, label, names[index]) for index, label in labels.items()]
        dots = np.column_stack([positions * zoom - radii[:, None], positions * zoom + radii[:, None]])
        taken += dots[: MAX_TRIED // 4].tolist()
        taken += [label_box(np.array([note.x, note.y]) * zoom, CENTRED, note.text) for note in notes]
        boxes = np.array(taken).reshape(-1, 4)
        for index in [index for index in range(len(names)) if index not in labels][:MAX_TRIED]:
            for label in label_options(float(radii[index]), zoom):
                box = label_box(positions[index] * zoom, label, names[index])
                if is_inside(box, size, zoom) and not has_overlap(boxes, box, own=dots[index]):
                    labels[index] = label
                    boxes = np.vstack([boxes, box])
                    break
    return labels


def label_options(radius: float, zoom: int) -> Iterator[SvgLabel]:
    """The four positions beside a dot, most readable first."""
    yield SvgLabel(radius + GAP, 4, "start", zoom)
    yield SvgLabel(-radius - GAP, 4, "end", zoom)
    yield SvgLabel(0, -radius - GAP, "middle", zoom)
    yield SvgLabel(0, radius + GAP + LINE_HEIGHT - 4, "middle", zoom)


def label_box(position: Array, label: SvgLabel, name: str) -> list[float]:
    """Left, top, right and bottom of a label."""
    width = LETTER_WIDTH * len(truncate_label(name))
    left = float(position[0]) + label.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    top = float(position[1]) + label.y + 4 - LINE_HEIGHT
    return [left, top, left + width, top + LINE_HEIGHT]


def is_inside(box: Sequence[float], size: tuple[float, float], zoom: int) -> bool:
    """Whether a box lies within the picture."""
    left, top, right, bottom = box
    return left >= 0 and top >= 0 and right <= size[0] * zoom and bottom <= size[1] * zoom


def has_overlap(boxes: Array, box: Sequence[float], own: Array) -> bool:
    """Whether a box overlaps a taken one other than its own dot."""
    left, top, right, bottom = box
    hits = boxes[(boxes[:, 0] < right) & (boxes[:, 2] > left) & (boxes[:, 1] < bottom) & (boxes[:, 3] > top)]
    return bool((hits != own).any())
