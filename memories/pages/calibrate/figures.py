"""Confidence against truth as a chart."""

from collections.abc import Sequence
from typing import Any

from memories.pages.chart_parts import text_annotation
from memories.templatetags.numbers import figure as written
from memories.tuning.calibration.confidence_weights import Reliability
from scoring.calibration import ReliabilityBin

TICKS = [step / 5 for step in range(6)]


def reliability(found: Reliability) -> dict[str, Any]:
    """How often memories of a confidence are right: dotted as it serves, drawn through as it would be."""
    moved = found.before != found.after
    lines = [points(found.after, "$ink", "$mark", "solid", named="fitted")] if moved else []
    served = points(found.before, "$control" if moved else "$ink", "$surface", "dot" if moved else "solid", named="now")
    even = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "line": {"color": "$line-2", "width": 1}}
    axis = {"range": [0, 1.03], "tickvals": TICKS, "ticktext": [written(tick) for tick in TICKS]}
    return {
        "data": [served, *lines],
        "layout": {
            "margin": {"l": 44, "r": 16, "t": 10, "b": 40},
            "xaxis": {**axis, "title": {"text": "confidence"}, "showgrid": False},
            "yaxis": {**axis, "range": [-0.06, 1.08], "title": {"text": "share that is right"}},
            "shapes": [even],
            "annotations": [text_annotation(0.64, 0.5, "as it should be")],
        },
        "narrow": {"margin": {"l": 36, "r": 8, "t": 10, "b": 40}},
    }


def points(bins: Sequence[ReliabilityBin], line: str, fill: str, dash: str, *, named: str) -> dict[str, Any]:
    """Bins as dots, the larger the more memories they hold."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [round(one.confidence, 4) for one in bins],
        "y": [round(one.right, 4) for one in bins],
        "hovertext": [told(one, named) for one in bins],
        "hoverinfo": "text",
        "line": {"color": line, "width": 1.5, "dash": dash},
        "marker": {
            "color": fill,
            "line": {"color": line, "width": 1.5},
            "size": [min(6 + 2 * one.memories**0.5, 30) for one in bins],
        },
    }


def told(one: ReliabilityBin, named: str) -> str:
    """What a dot stands for, in words."""
    memories = "1 memory" if one.memories == 1 else f"{one.memories} memories"
    return f"{named}: {memories} at {written(one.confidence, 2)}, {100 * one.right:.0f} % right"


def label(found: Reliability) -> str:
    """What the chart shows, in words."""
    return "Confidence against truth: " + "; ".join(told(one, "now") for one in found.before) + "."
