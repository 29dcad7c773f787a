"""Charts of the optimiser: best objective so far, and the Pareto front."""

from collections.abc import Mapping, Sequence
from typing import Any

from memories.contracts.number_format import format_number
from memories.pages.chart_parts import text_annotation


def search_progress_chart(search: Mapping[str, Any]) -> dict[str, Any]:
    """The best objective so far over the configurations tried, and the start."""
    steps = [*search["improved"], (search["tried"], search["best"])]
    x, y = [after for after, _ in steps], [round(best, 5) for _, best in steps]
    low, high = min(y), max(y)
    padding = max((high - low) * 0.15, 0.005)
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "line": {"color": "$ink", "width": 2.5, "shape": "hv"},
                "hovertemplate": "%{y:.3f} after %{x}<extra></extra>",
            },
            highlight_marker(x[-1:], y[-1:]),
        ],
        "layout": {
            "margin": {"l": 44, "r": 56, "t": 8, "b": 36},
            "xaxis": {
                "title": {"text": "configurations tried"},
                "range": [1, max(search["tried"], 2)],
                "showgrid": False,
            },
            "yaxis": {"range": [low - padding, high + padding], "tickformat": ".3f"},
            "shapes": [
                {
                    "type": "line",
                    "xref": "paper",
                    "x0": 0,
                    "x1": 1,
                    "y0": search["start"],
                    "y1": search["start"],
                    "line": {"color": "$control", "width": 1.5, "dash": "dot"},
                }
            ],
            "annotations": [
                text_annotation(1.0, y[-1], format_number(y[-1], 3), xshift=8),
                *([text_annotation(1.0, low, "start", xshift=8)] if high - low > padding else []),
            ],
        },
    }


def search_progress_label(search: Mapping[str, Any], metric: str) -> str:
    """Text alternative of the progress chart."""
    return (
        f"The best {metric} so far over {search['tried']} configurations: from {format_number(search['start'], 3)}"
        f" to {format_number(search['best'], 3)}, improved {len(search['improved']) - 1} times."
    )


def pareto_chart(points: Sequence[Mapping[str, Any]], metric: str, against: str) -> dict[str, Any]:
    """Every configuration tried, the Pareto front as a line, and the start as a dot."""
    front = sorted((point for point in points if point["front"]), key=lambda point: point["other"])
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                **xy_values(points),
                "marker": {"color": "$control", "size": 5},
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "lines+markers",
                **xy_values(front),
                "line": {"color": "$ink", "width": 1.5, "shape": "linear"},
                "marker": {"color": "$ink", "size": 7},
                "hovertemplate": f"%{{y:.3f}} {metric}, %{{x:.4~g}} {against}<extra></extra>",
            },
            highlight_marker(*(values for values in xy_values(points[:1]).values())),
        ],
        "layout": {
            "margin": {"l": 44, "r": 16, "t": 8, "b": 40},
            "xaxis": {"title": {"text": against}, "nticks": 6, "range": axis_range(points, "other")},
            "yaxis": {
                "tickformat": ".3f",
                "title": {"text": metric},
                "nticks": 6,
                "range": axis_range(points, "quality"),
            },
            "annotations": [
                {
                    "x": points[0]["other"],
                    "y": points[0]["quality"],
                    "text": "start",
                    "showarrow": False,
                    "xanchor": "left",
                    "xshift": 9,
                }
            ]
            if points
            else [],
        },
        "narrow": {"xaxis": {"nticks": 4}},
    }


def axis_range(points: Sequence[Mapping[str, Any]], key: str) -> list[float]:
    """Axis range without outliers, which would squeeze all other points into a corner.

    Always includes the start, the Pareto front and the middle 90 % of the others.
    """
    values = sorted(point[key] for point in points)
    cut = len(values) // 20
    included = [*values[cut : len(values) - cut], *(point[key] for point in points if point["front"])]
    included += [point[key] for point in points[:1]]
    low, high = min(included, default=0.0), max(included, default=1.0)
    padding = max(0.08 * (high - low), 0.005)
    return [low - padding, high + padding]


def count_outside(points: Sequence[Mapping[str, Any]]) -> int:
    """How many configurations lie outside the axis ranges."""
    ranges = {key: axis_range(points, key) for key in ("other", "quality")}
    return sum(any(not low <= point[key] <= high for key, (low, high) in ranges.items()) for point in points)


def xy_values(points: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The points' coordinates as Plotly takes them."""
    return {"x": [point["other"] for point in points], "y": [point["quality"] for point in points]}


def highlight_marker(x: Sequence[float], y: Sequence[float]) -> dict[str, Any]:
    """Highlighted points."""
    marker = {"color": "$mark", "size": 11, "line": {"color": "$ink", "width": 1.5}}
    options = {"marker": marker, "hoverinfo": "skip", "cliponaxis": False}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, **options}
