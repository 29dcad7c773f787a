"""Charts of the Calibrate page: the reliability curve."""

from collections.abc import Sequence
from typing import Any

from memories.contracts.number_format import format_number
from memories.pages.chart_parts import text_annotation
from memories.tuning.calibration.confidence_weights import Reliability
from scoring.calibration import ReliabilityBin

TICKS = [step / 5 for step in range(6)]


def reliability_chart(reliability: Reliability) -> dict[str, Any]:
    """Share of right memories by confidence: solid with fitted weights, dotted with the current ones."""
    fitted = reliability.before != reliability.after
    current = reliability_trace(
        reliability.before,
        "$control" if fitted else "$ink",
        "$surface",
        "dot" if fitted else "solid",
        weights="current",
    )
    traces = [current]
    if fitted:
        traces.append(reliability_trace(reliability.after, "$ink", "$mark", "solid", weights="fitted"))
    diagonal = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "line": {"color": "$line-2", "width": 1}}
    axis = {"range": [0, 1.03], "tickvals": TICKS, "ticktext": [format_number(tick) for tick in TICKS]}
    return {
        "data": traces,
        "layout": {
            "margin": {"l": 44, "r": 16, "t": 10, "b": 40},
            "xaxis": {**axis, "title": {"text": "confidence"}, "showgrid": False},
            "yaxis": {**axis, "range": [-0.06, 1.08], "title": {"text": "share right"}},
            "shapes": [diagonal],
            "annotations": [text_annotation(0.64, 0.5, "perfect calibration")],
        },
        "narrow": {"margin": {"l": 36, "r": 8, "t": 10, "b": 40}},
    }


def reliability_trace(
    bins: Sequence[ReliabilityBin], line: str, fill: str, dash: str, *, weights: str
) -> dict[str, Any]:
    """Bins as markers, sized by their number of memories."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [round(bin.confidence, 4) for bin in bins],
        "y": [round(bin.right, 4) for bin in bins],
        "hovertext": [reliability_bin_text(bin, weights) for bin in bins],
        "hoverinfo": "text",
        "line": {"color": line, "width": 1.5, "dash": dash},
        "marker": {
            "color": fill,
            "line": {"color": line, "width": 1.5},
            "size": [min(6 + 2 * bin.memories**0.5, 30) for bin in bins],
        },
    }


def reliability_bin_text(bin: ReliabilityBin, weights: str) -> str:
    """Hover text of a bin."""
    memories = "1 memory" if bin.memories == 1 else f"{bin.memories} memories"
    return f"{weights}: {memories} at {format_number(bin.confidence, 2)}, {100 * bin.right:.0f} % right"


def reliability_label(reliability: Reliability) -> str:
    """Text alternative of the chart."""
    return "Reliability curve: " + "; ".join(reliability_bin_text(bin, "current") for bin in reliability.before) + "."
