"""Sensitivity as the Tune page draws it: a curve beside each slider, what matters most, and the sweep of k."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memories.pages.drawing import line
from memories.pages.sliders import Slider
from memories.templatetags.numbers import figure as written
from memories.templatetags.numbers import signed
from memories.tuning.evaluating import NAMES
from memories.tuning.sensitivity import Curve
from scoring.params import Number

LEFT, RIGHT, TOP, BOTTOM = 4.0, 128.0, 4.0, 32.0  # of a small curve
MOST = 12  # parameters that the chart of what matters names
LONGEST = 34  # characters of a name beside a bar
FLAT = 0.0005
TICKS = (20, 40, 60, 80, 120)  # of k


def sparks(curves: Sequence[Curve], sliders: dict[str, Slider], metric: str) -> list[dict[str, Any]]:
    """Every curve as a path, all on one vertical scale, so that a flat one looks flat."""
    low, high = min(one.lowest for one in curves), max(one.highest for one in curves)
    spread = max(high - low, 0.02)

    def across(share: float) -> float:
        return LEFT + (RIGHT - LEFT) * share

    def down(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - low) / spread

    drawn = []
    for one in curves:
        slider = sliders[one.name]
        places = np.linspace(0, 1, len(one.values))
        here = places[one.values.index(slider.value)] if slider.value in one.values else 0.0
        if isinstance(slider.declaration, Number):
            places = np.array([slider.place(value) / 100 for value in one.values])
            here = slider.fill / 100
        drawn.append(
            {
                "name": one.name,
                "path": " ".join(
                    f"{'ML'[number > 0]}{across(place):.1f} {down(value):.1f}"
                    for number, (place, value) in enumerate(zip(places, one.metric, strict=True))
                ),
                "base": f"{down(one.here):.1f}",
                "x": f"{across(float(here)):.1f}",
                "label": f"{NAMES[metric]} from {written(one.lowest, 3)} to {written(one.highest, 3)} over this range",
            }
        )
    return drawn


def tornado(curves: Sequence[Curve], sliders: dict[str, Slider]) -> dict[str, Any]:
    """How far each parameter alone can move the metric, down and up from where it stands; the strongest on top."""
    strongest = sorted(curves, key=lambda one: (-one.swing, one.name))[:MOST][::-1]
    names = [shortened(named(sliders[one.name])) for one in strongest]
    down = [round(one.lowest - one.here, 4) for one in strongest]
    up = [round(max(one.highest - one.here, 0.0), 4) for one in strongest]
    bars = {"type": "bar", "orientation": "h", "y": names}
    here = strongest[0].here if strongest else 0.0
    reach = max([*map(abs, down), *up, 0.01])
    says = ["at its best" if gain < FLAT else signed(gain, 3) for gain in up]
    return {
        "data": [
            {**bars, "x": down, "marker": {"color": "$control"}, "hovertemplate": "%{y}: %{x:.3f}<extra></extra>"},
            {**bars, "x": up, "marker": {"color": "$ink"}, "hovertemplate": "%{y}: +%{x:.3f}<extra></extra>"},
        ],
        "layout": {
            "barmode": "overlay",
            "bargap": 0.4,
            "margin": {"l": 220, "r": 70, "t": 8, "b": 28},
            "yaxis": {"showgrid": False, "tickfont": {"size": 12, "color": "$ink-2"}, "ticksuffix": " "},
            "xaxis": {
                "tickvals": [-reach, 0],
                "ticktext": [signed(-reach, 2), written(here, 3)],
                "range": [-1.1 * reach, 1.1 * max(*up, 0.1 * reach)] if up else [-1, 1],
            },
            "annotations": [
                {"x": gain, "y": name, "text": f" {text}", "showarrow": False, "xanchor": "left", "font": {"size": 11}}
                for gain, name, text in zip(up, names, says, strict=True)
            ],
        },
        "narrow": {"margin": {"l": 130, "r": 62, "t": 8, "b": 28}},
    }


def named(slider: Slider) -> str:
    """What a parameter is called away from its group: a label of one word says too little there."""
    return slider.label if " " in slider.label else f"{slider.declaration.group}, {slider.label}"


def shortened(name: str) -> str:
    """A name that fits beside a bar; the table has it whole."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def strongest(curves: Sequence[Curve], sliders: dict[str, Slider]) -> str:
    """What matters most, in words."""
    ordered = sorted(curves, key=lambda one: (-one.swing, one.name))
    names = [named(sliders[one.name]) for one in ordered[:3] if one.swing > FLAT]
    first = [*names[:1], *(name[0].lower() + name[1:] for name in names[1:])]
    return f"{', then '.join(first)}." if first else "No parameter moves the metric on these queries."


def sweep(curve: Curve, slider: Slider, metric: str, usual: float) -> dict[str, Any]:
    """The metric over k, with the value that stands and that of the start, whose metric is `usual`."""
    x, y = np.array(curve.values, dtype=float), np.array(curve.metric)
    room = max(curve.swing, 0.02)
    dots = {"size": [9, 13], "color": ["$surface", "$mark"], "line": {"color": ["$control", "$ink"], "width": 2}}
    return {
        "data": [
            {**line(x, y, {"color": "$ink", "width": 2.5}), "hoverinfo": "x+y"},
            {
                "type": "scatter",
                "mode": "markers",
                "x": [slider.default, slider.value],
                "y": [usual, curve.here],
                "marker": dots,
                "hoverinfo": "skip",
            },
        ],
        "layout": {
            "margin": {"l": 44, "r": 12, "t": 12, "b": 36},
            "xaxis": {"showgrid": False, "tickvals": list(TICKS), "title": {"text": "k"}},
            "yaxis": {
                "range": [curve.lowest - 0.3 * room, curve.highest + 0.3 * room],
                "title": {"text": NAMES[metric]},
                "tickformat": ".3f",
            },
        },
    }
