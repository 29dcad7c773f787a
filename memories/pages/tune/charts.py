"""Charts of the Tune page: a sparkline per slider, a tornado chart of effect sizes, and the RRF k sweep."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memories.contracts.number_format import format_number, format_signed
from memories.pages.chart_parts import line_trace
from memories.pages.sliders import Slider
from memories.tuning.measurement import METRIC_NAMES
from memories.tuning.sensitivity import SensitivityCurve
from scoring.params import Number

LEFT, RIGHT, TOP, BOTTOM = 4.0, 128.0, 4.0, 32.0  # of a sparkline, in its viewBox
MAX_TORNADO_BARS = 12  # parameters in the tornado chart
MAX_NAME_CHARS = 34  # of a bar's label
MIN_EFFECT = 0.0005
K_TICKS = (20, 40, 60, 80, 120)  # of k


def sparklines(curves: Sequence[SensitivityCurve], sliders: dict[str, Slider], metric: str) -> list[dict[str, Any]]:
    """Every curve as an SVG path, all on one vertical scale, so that a flat one looks flat."""
    low, high = min(curve.lowest for curve in curves), max(curve.highest for curve in curves)
    spread = max(high - low, 0.02)

    def x_of(share: float) -> float:
        return LEFT + (RIGHT - LEFT) * share

    def y_of(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - low) / spread

    sparks = []
    for curve in curves:
        slider = sliders[curve.name]
        positions = np.linspace(0, 1, len(curve.values))
        current = positions[curve.values.index(slider.value)] if slider.value in curve.values else 0.0
        if isinstance(slider.declaration, Number):
            positions = np.array([slider.position(value) / 100 for value in curve.values])
            current = slider.fill / 100
        sparks.append(
            {
                "name": curve.name,
                "path": " ".join(
                    f"{'ML'[index > 0]}{x_of(position):.1f} {y_of(value):.1f}"
                    for index, (position, value) in enumerate(zip(positions, curve.metric, strict=True))
                ),
                "base": f"{y_of(curve.current_metric):.1f}",
                "x": f"{x_of(float(current)):.1f}",
                "label": f"{METRIC_NAMES[metric]} from {format_number(curve.lowest, 3)} "
                f"to {format_number(curve.highest, 3)} "
                "over this range",
            }
        )
    return sparks


def tornado_chart(curves: Sequence[SensitivityCurve], sliders: dict[str, Slider]) -> dict[str, Any]:
    """How far each parameter alone can move the metric, down and up from its current value; largest effect on top."""
    strongest = sorted(curves, key=lambda curve: (-curve.effect_size, curve.name))[:MAX_TORNADO_BARS][::-1]
    names = [truncate_param_name(slider_title(sliders[curve.name])) for curve in strongest]
    down = [round(curve.lowest - curve.current_metric, 4) for curve in strongest]
    up = [round(max(curve.highest - curve.current_metric, 0.0), 4) for curve in strongest]
    bars = {"type": "bar", "orientation": "h", "y": names}
    current = strongest[0].current_metric if strongest else 0.0
    reach = max([*map(abs, down), *up, 0.01])
    gain_labels = ["at its best" if gain < MIN_EFFECT else format_signed(gain, 3) for gain in up]
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
                "ticktext": [format_signed(-reach, 2), format_number(current, 3)],
                "range": [-1.1 * reach, 1.1 * max(*up, 0.1 * reach)] if up else [-1, 1],
            },
            "annotations": [
                {"x": gain, "y": name, "text": f" {text}", "showarrow": False, "xanchor": "left", "font": {"size": 11}}
                for gain, name, text in zip(up, names, gain_labels, strict=True)
            ],
        },
        "narrow": {"margin": {"l": 130, "r": 62, "t": 8, "b": 28}},
    }


def slider_title(slider: Slider) -> str:
    """A parameter's label outside its group; a one-word label gets the group's name in front."""
    return slider.label if " " in slider.label else f"{slider.declaration.group}, {slider.label}"


def truncate_param_name(name: str) -> str:
    """A name that fits beside a bar; the table has it in full."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"


def strongest_params_sentence(curves: Sequence[SensitivityCurve], sliders: dict[str, Slider]) -> str:
    """The parameters with the largest effect, as a sentence."""
    ordered = sorted(curves, key=lambda curve: (-curve.effect_size, curve.name))
    names = [slider_title(sliders[curve.name]) for curve in ordered[:3] if curve.effect_size > MIN_EFFECT]
    first = [*names[:1], *(name[0].lower() + name[1:] for name in names[1:])]
    return f"{', then '.join(first)}." if first else "No parameter moves the metric on these queries."


def k_sweep_chart(curve: SensitivityCurve, slider: Slider, metric: str, default_metric: float) -> dict[str, Any]:
    """The metric over k, with markers at the current k and at the default, whose metric is `default_metric`."""
    x, y = np.array(curve.values, dtype=float), np.array(curve.metric)
    room = max(curve.effect_size, 0.02)
    dots = {"size": [9, 13], "color": ["$surface", "$mark"], "line": {"color": ["$control", "$ink"], "width": 2}}
    return {
        "data": [
            {**line_trace(x, y, {"color": "$ink", "width": 2.5}), "hoverinfo": "x+y"},
            {
                "type": "scatter",
                "mode": "markers",
                "x": [slider.default, slider.value],
                "y": [default_metric, curve.current_metric],
                "marker": dots,
                "hoverinfo": "skip",
            },
        ],
        "layout": {
            "margin": {"l": 44, "r": 12, "t": 12, "b": 36},
            "xaxis": {"showgrid": False, "tickvals": list(K_TICKS), "title": {"text": "RRF k"}},
            "yaxis": {
                "range": [curve.lowest - 0.3 * room, curve.highest + 0.3 * room],
                "title": {"text": METRIC_NAMES[metric]},
                "tickformat": ".3f",
            },
        },
    }
