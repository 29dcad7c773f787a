"""Names in a picture, the most important first, none upon another; nearer by, there is room for more."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scoring.term import Array

ZOOMS = (1, 2, 4)  # times nearer
TRIED = 160  # names that are tried for each
LETTER, LINE = 6.6, 14.0  # how wide a letter and how high a line is
GAP = 3.0
LONGEST = 26  # letters of a name


class Label(NamedTuple):
    """A name beside its entity: where from its middle, on which side, and from how near it is shown."""

    x: float
    y: float
    anchor: str
    zoom: int


class Note(NamedTuple):
    """Words in the picture that are there in any case, around a place."""

    x: float
    y: float
    says: str
    look: str


MIDDLE = Label(0, 4, "middle", 1)


def short(name: str) -> str:
    """A name that fits."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def labels(
    places: Array, sizes: Array, names: Sequence[str], within: tuple[float, float], notes: Sequence[Note]
) -> dict[int, Label]:
    """A label for each that has room for one inside the picture, in the order of their importance."""
    chosen: dict[int, Label] = {}
    for zoom in ZOOMS:
        taken = [box_of(places[one] * zoom, label, names[one]) for one, label in chosen.items()]
        dots = np.column_stack([places * zoom - sizes[:, None], places * zoom + sizes[:, None]])
        taken += dots[: TRIED // 4].tolist()
        taken += [box_of(np.array([note.x, note.y]) * zoom, MIDDLE, note.says) for note in notes]
        filled = np.array(taken).reshape(-1, 4)
        for one in [place for place in range(len(names)) if place not in chosen][:TRIED]:
            for label in sides(float(sizes[one]), zoom):
                box = box_of(places[one] * zoom, label, names[one])
                if inside(box, within, zoom) and not overlaps(filled, box, own=dots[one]):
                    chosen[one] = label
                    filled = np.vstack([filled, box])
                    break
    return chosen


def sides(size: float, zoom: int) -> Iterator[Label]:
    """The four places beside an entity, the best to read first."""
    yield Label(size + GAP, 4, "start", zoom)
    yield Label(-size - GAP, 4, "end", zoom)
    yield Label(0, -size - GAP, "middle", zoom)
    yield Label(0, size + GAP + LINE - 4, "middle", zoom)


def box_of(place: Array, label: Label, name: str) -> list[float]:
    """Left, top, right and bottom of a label."""
    width = LETTER * len(short(name))
    left = float(place[0]) + label.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    top = float(place[1]) + label.y + 4 - LINE
    return [left, top, left + width, top + LINE]


def inside(box: Sequence[float], within: tuple[float, float], zoom: int) -> bool:
    """Whether a box lies in the picture."""
    left, top, right, bottom = box
    return left >= 0 and top >= 0 and right <= within[0] * zoom and bottom <= within[1] * zoom


def overlaps(filled: Array, box: Sequence[float], own: Array) -> bool:
    """Whether a box lies upon one that is taken, its own entity apart."""
    left, top, right, bottom = box
    upon = filled[(filled[:, 0] < right) & (filled[:, 2] > left) & (filled[:, 1] < bottom) & (filled[:, 3] > top)]
    return bool((upon != own).any())
