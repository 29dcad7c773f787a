"""The optimiser's two charts: the best so far, and quality against what it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from memories.pages.drawing import note
from memories.templatetags.numbers import figure as written


def progress(found: Mapping[str, Any]) -> dict[str, Any]:
    """The best so far over the settings tried, and where it began."""
    steps = [*found["improved"], (found["tried"], found["best"])]
    x, y = [after for after, _ in steps], [round(best, 5) for _, best in steps]
    low, high = min(y), max(y)
    room = max((high - low) * 0.15, 0.005)
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
            dot(x[-1:], y[-1:]),
        ],
        "layout": {
            "margin": {"l": 44, "r": 56, "t": 8, "b": 36},
            "xaxis": {"title": {"text": "settings tried"}, "range": [1, max(found["tried"], 2)], "showgrid": False},
            "yaxis": {"range": [low - room, high + room], "tickformat": ".3f"},
            "shapes": [
                {
                    "type": "line",
                    "xref": "paper",
                    "x0": 0,
                    "x1": 1,
                    "y0": found["start"],
                    "y1": found["start"],
                    "line": {"color": "$control", "width": 1.5, "dash": "dot"},
                }
            ],
            "annotations": [
                note(1.0, y[-1], written(y[-1], 3), xshift=8),
                *([note(1.0, low, "as it is", xshift=8)] if high - low > room else []),
            ],
        },
    }


def progress_label(found: Mapping[str, Any], metric: str) -> str:
    """What the first chart shows, in words."""
    return (
        f"The best {metric} so far over {found['tried']} settings: from {written(found['start'], 3)}"
        f" to {written(found['best'], 3)}, improved {len(found['improved']) - 1} times."
    )


def pareto(points: Sequence[Mapping[str, Any]], metric: str, against: str) -> dict[str, Any]:
    """Every setting tried; a line through those that nothing beats; the start as a dot."""
    best = sorted((one for one in points if one["front"]), key=lambda one: one["other"])
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                **sides(points),
                "marker": {"color": "$control", "size": 5},
                "hoverinfo": "skip",
            },
            {
                "type": "scatter",
                "mode": "lines+markers",
                **sides(best),
                "line": {"color": "$ink", "width": 1.5, "shape": "linear"},
                "marker": {"color": "$ink", "size": 7},
                "hovertemplate": f"%{{y:.3f}} {metric}, %{{x:.4~g}} {against}<extra></extra>",
            },
            dot(*(values for values in sides(points[:1]).values())),
        ],
        "layout": {
            "margin": {"l": 44, "r": 16, "t": 8, "b": 40},
            "xaxis": {"title": {"text": against}, "nticks": 6, "range": reach(points, "other")},
            "yaxis": {
                "tickformat": ".3f",
                "title": {"text": metric},
                "nticks": 6,
                "range": reach(points, "quality"),
            },
            "annotations": [
                {
                    "x": points[0]["other"],
                    "y": points[0]["quality"],
                    "text": "as it is",
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


def reach(points: Sequence[Mapping[str, Any]], side: str) -> list[float]:
    """From where to where to look: a few settings far off would press all others into a corner.

    The start, what nothing beats and the middle nine tenths of the others are always seen.
    """
    values = sorted(one[side] for one in points)
    cut = len(values) // 20
    seen = [*values[cut : len(values) - cut], *(one[side] for one in points if one["front"])]
    seen += [one[side] for one in points[:1]]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    room = max(0.08 * (high - low), 0.005)
    return [low - room, high + room]


def outside(points: Sequence[Mapping[str, Any]]) -> int:
    """How many settings lie beyond the picture."""
    ends = {side: reach(points, side) for side in ("other", "quality")}
    return sum(any(not low <= one[side] <= high for side, (low, high) in ends.items()) for one in points)


def sides(points: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Points as two rows of numbers."""
    return {"x": [one["other"] for one in points], "y": [one["quality"] for one in points]}


def dot(x: Sequence[float], y: Sequence[float]) -> dict[str, Any]:
    """The highlighted place."""
    mark = {"color": "$mark", "size": 11, "line": {"color": "$ink", "width": 1.5}}
    shown = {"marker": mark, "hoverinfo": "skip", "cliponaxis": False}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, **shown}
