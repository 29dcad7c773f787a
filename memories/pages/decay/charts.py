"""The chart of decay curves with the memories on them."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memories.contracts.number_format import format_number
from memories.pages.chart_parts import Chart, axis_ticks, line_trace, spread_labels, text_annotation
from memories.pages.decay.curves import HOURS_PER_DAY, CurveFamily
from scoring.params import Params
from scoring.term import Array

CURVE_POINTS = 181
LOG_TICKS = {"tickvals": [1 / 24, 1, 7, 30, 365], "ticktext": ["1 h", "1 d", "7 d", "30 d", "1 y"]}
FRESHNESS_TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
LABEL_WIDTH = 0.2  # share of the chart's width
LABEL_OFFSET = 0.07  # of a label below an overlapping one


class MemoryDot(NamedTuple):
    """A memory on its decay curve, or several of similar age."""

    age: float
    freshness: float
    memories: int
    label: str


def decay_chart(
    family: CurveFamily,
    params: Params,
    start_params: Params,
    dots: Mapping[str, Sequence[MemoryDot]],
    *,
    floor: float,
    max_age: float,
) -> Chart:
    """Every curve with its label, dotted as it was before a slider moved, and the memories on it."""
    if family.log_time:
        ages = np.geomspace(1 / HOURS_PER_DAY, max_age, CURVE_POINTS)
        age_axis: Chart = {"type": "log", "range": [math.log10(ages[0]), math.log10(max_age)], **LOG_TICKS}
    else:
        ages = np.linspace(0.0, max_age, CURVE_POINTS)
        age_axis = {"range": [0, max_age]}
    data: list[Chart] = []
    labels: list[Chart] = []
    for curve, position in zip(family.curves, label_positions(family, params, ages), strict=True):
        values, before = family.freshness(ages, curve, params), family.freshness(ages, curve, start_params)
        changed = not np.array_equal(values, before)
        if changed:
            data.append(line_trace(ages, before, {"color": "$control", "width": 1.5, "dash": "dot"}))
        style = {"color": "$ink", "width": 2.5} if changed else {"color": "$ink-2", "width": 1.5}
        data.append(line_trace(ages, values, style))
        labels.append(text_annotation(*position, curve.name, xshift=6, bgcolor="$surface"))
    data += [memory_markers(curve_dots) for curve_dots in dots.values() if curve_dots]
    labels.append(text_annotation(0.0, floor, f"floor {format_number(floor)}", yshift=-8))
    floor_line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": floor, "y1": floor}
    return {
        "data": data,
        "layout": {
            "margin": {"l": 40, "r": 88, "t": 8, "b": 40},
            "xaxis": {
                **age_axis,
                "title": {"text": "age" if family.log_time else "age in days"},
                "showgrid": False,
            },
            "yaxis": {"range": [0, 1.04], "title": {"text": "freshness"}, **axis_ticks(FRESHNESS_TICKS)},
            "shapes": [{**floor_line, "line": {"color": "$ink-3", "width": 1, "dash": "dash"}}],
            "annotations": labels,
        },
        "narrow": {"margin": {"l": 34, "r": 72, "t": 8, "b": 40}},
    }


def memory_markers(dots: Sequence[MemoryDot]) -> Chart:
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


def label_positions(family: CurveFamily, params: Params, ages: Array) -> list[tuple[float, float]]:
    """Position of each curve's label: at its end, or near its half-life on a log axis; without overlap."""
    if not family.log_time:
        ends = [float(family.freshness(ages[-1:], curve, params)[0]) for curve in family.curves]
        return [(1.0, end) for end in spread_labels(ends)]
    # On a log axis all curves end at zero.
    positions, last, width = dict[str, tuple[float, float]](), (-1.0, 0.5), math.log(ages[-1] * HOURS_PER_DAY)
    for curve in sorted(family.curves, key=lambda curve: family.half_life(curve, params)):
        hours = family.half_life(curve, params) * HOURS_PER_DAY
        overlaps = math.log(max(hours, 1.0)) / width - last[0] < LABEL_WIDTH
        height = last[1] - LABEL_OFFSET if overlaps else 0.5
        last = math.log(max(hours * math.log2(1 / height), 1.0)) / width, height
        positions[curve.name] = last
    return [positions[curve.name] for curve in family.curves]
