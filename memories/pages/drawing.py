"""Pieces of charts: lines, marks and names where they are meant."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scoring.term import Array


class Dot(NamedTuple):
    """A memory on its curve, or several of about one age."""

    age: float
    kept: float
    memories: int
    says: str


def line(x: Array, y: Array, how: Mapping[str, Any]) -> dict[str, Any]:
    """One curve of a chart."""
    points = {"x": np.round(x, 5).tolist(), "y": np.round(y, 4).tolist()}
    return {"type": "scatter", "mode": "lines", **points, "line": how, "hoverinfo": "skip"}


def marks(dots: Sequence[Dot]) -> dict[str, Any]:
    """The memories of one curve."""
    size = [min(6 + 2 * float(np.log2(dot.memories)), 22.0) for dot in dots]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(dot.age, 2) for dot in dots],
        "y": [round(dot.kept, 4) for dot in dots],
        "hovertext": [dot.says for dot in dots],
        "hoverinfo": "text",
        "marker": {"color": "$mark", "line": {"color": "$ink", "width": 1}, "size": size},
    }


def note(x: float, y: float, text: str, **where: float | str) -> dict[str, Any]:
    """A name in a chart, where it is meant."""
    return {"xref": "paper", "x": x, "y": y, "text": text, "xanchor": "left", "showarrow": False, **where}


def apart(ends: Sequence[float], least: float = 0.055) -> list[float]:
    """Places for names at the ends of lines, none upon another: those too near share the room around their middle."""
    stacks: list[list[int]] = []

    def top(stack: Sequence[int]) -> float:
        return float(np.mean([ends[place] for place in stack])) + least * (len(stack) - 1) / 2

    for place in sorted(range(len(ends)), key=lambda place: -ends[place]):
        stack = [place]
        while stacks and top(stacks[-1]) - least * len(stacks[-1]) < top(stack):
            stack = stacks.pop() + stack
        stacks.append(stack)
    placed = {place: top(stack) - least * below for stack in stacks for below, place in enumerate(stack)}
    lowest = min(placed.values(), default=0.0)
    return [placed[place] + max(0.0, -lowest) for place in range(len(ends))]
