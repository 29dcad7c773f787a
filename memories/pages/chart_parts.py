"""Plotly building blocks: line traces, markers and annotations."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scoring.term import Array


class MemoryDot(NamedTuple):
    """A memory on its decay curve, or several of about the same age."""

    age: float
    freshness: float
    memories: int
    label: str


def line_trace(x: Array, y: Array, style: Mapping[str, Any]) -> dict[str, Any]:
    """A line without hover."""
    points = {"x": np.round(x, 5).tolist(), "y": np.round(y, 4).tolist()}
    return {"type": "scatter", "mode": "lines", **points, "line": style, "hoverinfo": "skip"}


def memory_markers(dots: Sequence[MemoryDot]) -> dict[str, Any]:
    """The memories of one curve as markers; larger where several coincide."""
    size = [min(6 + 2 * float(np.log2(dot.memories)), 22.0) for dot in dots]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [round(dot.age, 2) for dot in dots],
        "y": [round(dot.freshness, 4) for dot in dots],
        "hovertext": [dot.label for dot in dots],
        "hoverinfo": "text",
        "marker": {"color": "$mark", "line": {"color": "$ink", "width": 1}, "size": size},
    }


def text_annotation(x: float, y: float, text: str, **where: float | str) -> dict[str, Any]:
    """A text annotation; x is relative to the plot's width."""
    return {"xref": "paper", "x": x, "y": y, "text": text, "xanchor": "left", "showarrow": False, **where}


def spread_labels(ends: Sequence[float], min_gap: float = 0.055) -> list[float]:
    """Label positions at line ends without overlap; labels too close are stacked around their mean."""
    stacks: list[list[int]] = []

    def top(stack: Sequence[int]) -> float:
        return float(np.mean([ends[place] for place in stack])) + min_gap * (len(stack) - 1) / 2

    for place in sorted(range(len(ends)), key=lambda place: -ends[place]):
        stack = [place]
        while stacks and top(stacks[-1]) - min_gap * len(stacks[-1]) < top(stack):
            stack = stacks.pop() + stack
        stacks.append(stack)
    placed = {place: top(stack) - min_gap * below for stack in stacks for below, place in enumerate(stack)}
    lowest = min(placed.values(), default=0.0)
    return [placed[place] + max(0.0, -lowest) for place in range(len(ends))]
