"""Charts of the Guards page: hallucinations left after each guard."""

from collections.abc import Sequence
from typing import Any

from memories.contracts.number_format import format_count, format_per_thousand
from memories.pages.chart_parts import text_annotation
from memories.pages.guards.guard_cascade import HALLUCINATIONS, GuardStep


def escape_chart(steps: Sequence[GuardStep]) -> dict[str, Any]:
    """Bars of the hallucinations made and left after each guard; a tick where a changed rate was."""
    counts = [float(HALLUCINATIONS), *(step.passed for step in steps)]
    captions = ["made up", *(f"pass {step.name}" for step in steps)]
    last = len(steps)
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [round(count, 4) for count in counts],
        "y": list(range(last + 1)),
        "marker": {
            "color": ["$control", *["$ink-2"] * (last - 1), "$mark"],
            "line": {"color": "$ink", "width": [0] * last + [1.5]},
        },
        "hoverinfo": "skip",
    }
    changed = [(step.policy_passed, row) for row, step in enumerate(steps, 1) if step.policy_passed != step.passed]
    ticks = {
        "type": "scatter",
        "mode": "markers",
        "x": [round(count, 4) for count, _ in changed],
        "y": [row for _, row in changed],
        "marker": {"symbol": "line-ns-open", "size": 24, "color": "$mark-line", "line": {"width": 2}},
        "hovertext": [f"{format_per_thousand(count)} under the policy" for count, _ in changed],
        "hoverinfo": "text",
    }
    # Captions sit above their bars: a narrow chart keeps its full width, and no tick crosses a number.
    annotations = [
        {**text_annotation(0.0, row - 0.46, f"{format_per_thousand(count)} {caption}"), "yanchor": "middle"}
        for row, (count, caption) in enumerate(zip(counts, captions, strict=True))
    ]
    return {
        "data": [bars, ticks] if changed else [bars],
        "layout": {
            "margin": {"l": 2, "r": 2, "t": 4, "b": 4},
            "bargap": 0.5,
            "xaxis": {"range": [0, HALLUCINATIONS], "showgrid": False, "showticklabels": False},
            "yaxis": {"range": [last + 0.4, -0.7], "showgrid": False, "showticklabels": False},
            "annotations": annotations,
        },
    }


def escape_chart_label(steps: Sequence[GuardStep]) -> str:
    """Text alternative of the chart."""
    passed = ", ".join(f"{format_per_thousand(step.passed)} pass {step.name}" for step in steps)
    return f"Of {format_count(HALLUCINATIONS)} hallucinations {passed}."
