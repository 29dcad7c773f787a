"""Plotly building blocks: traces, shapes, annotations and axes as plain dicts; colours are CSS tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memories.contracts.number_format import format_number
from scoring.term import Array

Chart = dict[str, Any]
MAX_LABEL_CHARS = 26
THIN_LINE = {"color": "$line-2", "width": 1}


def line_trace(x: Array, y: Array, style: Mapping[str, Any]) -> Chart:
    """A line without hover."""
    points = {"x": np.round(x, 5).tolist(), "y": np.round(y, 4).tolist()}
    return {"type": "scatter", "mode": "lines", **points, "line": style, "hoverinfo": "skip"}


def line_shape(x0: Any, x1: Any, y0: Any, y1: Any, **more: Any) -> Chart:
    """A thin line below the data."""
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "layer": "below", "line": THIN_LINE, **more}


def text_annotation(x: float, y: float, text: str, **where: float | str) -> Chart:
    """A text annotation; x is relative to the plot's width."""
    return {"xref": "paper", "x": x, "y": y, "text": text, "xanchor": "left", "showarrow": False, **where}


def data_annotation(text: str, x: Any, y: Any, **more: Any) -> Chart:
    """A small text annotation at data coordinates."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 11, "color": "$ink-3"}, **more}


def axis_ticks(values: Sequence[float]) -> Chart:
    """Ticks of an axis, labelled in the project's number format."""
    return {"tickvals": list(values), "ticktext": [format_number(value) for value in values]}


def escape_markup(text: str) -> str:
    """User content in a chart: Plotly would parse its angle brackets as markup. Line breaks stay."""
    return text.replace("<br>", "\0").replace("<", "‹").replace(">", "›").replace("\0", "<br>")


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


def truncate_label(text: str, max_chars: int = MAX_LABEL_CHARS) -> str:
    """A label cut to a maximum length."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
