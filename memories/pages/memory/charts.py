"""Charts of the page of one memory."""

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from memories.contracts.number_format import format_number, format_rounded, format_signed
from memories.models import DailyAccess, Memory
from memories.pages.chart_parts import (
    THIN_LINE,
    Chart,
    axis_ticks,
    data_annotation,
    escape_markup,
    line_shape,
    truncate_label,
)
from memories.pages.memory.evidence_history import ConfidenceWaterfall, HistoryRow
from memories.pages.memory.surroundings import MemoryGraph, MemoryNeighbour
from scoring.belief import MAX_BELIEF
from scoring.freshness import effective_freshness
from scoring.policy import WritePolicyParams
from scoring.systems.recall import FreshnessParams

CURVE_POINTS = 121
# Distance between cosines labelled on the same side, as a share of the axis.
LABEL_GAP, NARROW_LABEL_GAP = 0.04, 0.1
MAX_NODES = 10  # of the graph, on each side
DATETIME = "%Y-%m-%d %H:%M"
MIN_BELIEF_SPAN = timedelta(days=2)  # of the axis of belief
DAY_MS = 86_400_000
EVENT_SYMBOLS = {"contradicted": "x", "corroborated": "triangle-up", "confirmed": "diamond"}


def confidence_chart(waterfall: ConfidenceWaterfall, minimum: float, high: float) -> Chart:
    """The four signals as a waterfall with deduction and total, and the two thresholds."""
    names = [part.name for part in waterfall.signals]
    hover = [
        f"{format_number(part.weight, 2)} × {format_rounded(part.signal)} = {format_number(part.value, 4)}"
        for part in waterfall.signals
    ]
    steps: Chart = {"type": "bar", "orientation": "h", "y": names, "x": [part.value for part in waterfall.signals]}
    steps |= {"base": [part.start for part in waterfall.signals], "marker": {"color": "$control"}}
    steps |= {"hovertext": hover, "hoverinfo": "text"}
    data = [steps]
    if waterfall.deduction:
        deduction: Chart = {
            "type": "bar",
            "orientation": "h",
            "y": [waterfall.deducted_by],
            "x": [-waterfall.deduction],
        }
        data.append({**deduction, "base": [waterfall.confidence], "marker": {"color": "$bad"}, "hoverinfo": "skip"})
    total: Chart = {"type": "bar", "orientation": "h", "y": ["Confidence"], "x": [waterfall.confidence]}
    data.append({**total, "marker": {"color": "$ink"}, "hoverinfo": "skip"})
    order = ["Confidence", waterfall.deducted_by, *reversed(names)]
    ends = [part.start + part.value for part in waterfall.signals]
    connectors = [
        line_shape(
            at,
            at,
            len(order) - 1 - place,
            len(order) - 2 - place,
            line={**THIN_LINE, "color": "$control", "dash": "dot"},
        )
        for place, at in enumerate(ends[:-1])
    ]
    amounts = [(part.name, format_signed(part.value, 4)) for part in waterfall.signals]
    amounts += [(waterfall.deducted_by, format_signed(waterfall.deduction, 4) if waterfall.deduction else "0")]
    amount_labels = [
        data_annotation(text, 1, name, xref="paper", xanchor="right", xshift=56, font={"size": 12, "color": "$ink"})
        for name, text in amounts
    ]
    bold = {"size": 13, "color": "$ink", "weight": 600}
    amount_labels.append(
        data_annotation(
            format_number(waterfall.confidence, 4), 1, "Confidence", xref="paper", xanchor="right", xshift=56, font=bold
        )
    )
    threshold_labels = [
        data_annotation(f"minimum {format_number(minimum)}", minimum, 1, yref="paper", yanchor="bottom")
    ]
    threshold_labels.append(data_annotation("high", high, 1, yref="paper", yanchor="bottom"))
    narrow_labels = [
        data_annotation(f"min {format_number(minimum)}", minimum, 1, yref="paper", yanchor="bottom"),
        threshold_labels[1],
    ]
    return {
        "data": data,
        "layout": {
            "barmode": "overlay",
            "bargap": 0.4,
            "margin": {"l": 82, "r": 64, "t": 20, "b": 22},
            "xaxis": {"range": [0, 1], "showgrid": False, **axis_ticks([0, 0.25, 0.5, 0.75, 1])},
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": order,
                "tickfont": {"size": 12, "color": "$ink-2"},
                "ticksuffix": " ",
                "showgrid": False,
            },
            "shapes": [*(line_shape(at, at, 0, 1, yref="paper") for at in (0, minimum, high)), *connectors],
            "annotations": [*threshold_labels, *amount_labels],
        },
        "narrow": {"annotations": [*narrow_labels, *amount_labels], "xaxis": axis_ticks([0, 0.5, 1])},
    }


def freshness_at(days: Any, half_life: float, floor: float) -> list[float]:
    """Freshness at some ages in days."""
    return [round(float(value), 4) for value in effective_freshness(days, half_life, floor)]


def floor_date(memory: Memory, half_life: float, floor: float) -> datetime | None:
    """When a memory's freshness reaches the floor; None without a floor."""
    return memory.created_at + timedelta(days=half_life * -math.log2(floor)) if floor > 0 else None


def freshness_chart(
    memory: Memory, now: datetime, half_life_name: str, params: FreshnessParams, served_params: FreshnessParams
) -> Chart:
    """Freshness since creation with today marked; the served curve is dotted if parameters differ."""
    half_life, served = getattr(params, half_life_name), getattr(served_params, half_life_name)
    age = max((now - memory.created_at) / timedelta(days=1), 0.0)
    last_day = max(1.25 * age, 4.2 * served)
    days = np.linspace(0.0, last_day, CURVE_POINTS)
    dates = [(memory.created_at + timedelta(days=float(day))).strftime(DATETIME) for day in days]
    today = now.strftime(DATETIME)
    [freshness] = freshness_at(np.array([age]), half_life, params.freshness_floor)
    data: list[Chart] = []
    labels = []
    if params != served_params:
        served_values = freshness_at(days, served, served_params.freshness_floor)
        data.append({"type": "scatter", "mode": "lines", "x": dates, "y": served_values, "hoverinfo": "skip"})
        data[-1]["line"] = {"color": "$control", "width": 1.5, "dash": "dot"}
        middle = CURVE_POINTS // 2
        labels.append(
            data_annotation(
                f"served: τ {format_rounded(served)}",
                dates[middle],
                served_values[middle],
                xanchor="left",
                yanchor="bottom",
            )
        )
    values = freshness_at(days, half_life, params.freshness_floor)
    data.append({"type": "scatter", "mode": "lines", "x": dates, "y": values, "line": {"color": "$ink", "width": 2.5}})
    data[-1]["hovertemplate"] = "%{x|%-d %b %Y}: %{y:.2f}<extra></extra>"
    dot = {"size": 13, "color": "$mark", "line": {"color": "$ink", "width": 2}}
    data.append(
        {"type": "scatter", "mode": "markers", "x": [today], "y": [freshness], "marker": dot, "hoverinfo": "skip"}
    )
    label_left = age > last_day / 2
    labels.append(
        data_annotation(
            f"today, day {int(age)}: {format_number(freshness, 2)}",
            today,
            freshness,
            xanchor="right" if label_left else "left",
            yanchor="bottom",
            xshift=-8 if label_left else 8,
            yshift=8,
            font={"color": "$ink", "size": 12},
        )
    )
    if params.freshness_floor > 0:
        floor = params.freshness_floor
        labels.append(
            data_annotation(
                f"floor {format_number(floor, 2)}", 1, floor, xref="paper", xanchor="right", yanchor="top", yshift=-2
            )
        )
    return {
        "data": data,
        "layout": {
            "margin": {"l": 36, "r": 14, "t": 20, "b": 26},
            "xaxis": {"type": "date", "showgrid": False, "tickformat": "%b %Y", "nticks": 6},
            "yaxis": {"range": [0, 1.06], **axis_ticks([0, 0.25, 0.5, 0.75, 1])},
            "shapes": [line_shape(today, today, 0, freshness, line={"color": "$ink-3", "width": 1, "dash": "dot"})],
            "annotations": labels,
        },
        "narrow": {"xaxis": {"nticks": 4}},
    }


def belief_chart(changes: list[HistoryRow], days: list[DailyAccess], now: datetime, policy: WritePolicyParams) -> Chart:
    """Belief after each event, and the days of use below."""
    times = [change.at.strftime(DATETIME) for change in changes]
    values = [change.belief for change in changes]
    low = min([*values, 4.0]) - 1.2
    uses_y = low + 0.45
    hover = [
        f"{change.at:%-d %b %Y}: {change.label.lower()}, belief {format_rounded(change.belief)}" for change in changes
    ]
    colours = ["$bad" if change.event.cause == "contradicted" else "$ink" for change in changes]
    shapes = [EVENT_SYMBOLS.get(change.event.cause, "circle") for change in changes]
    steps: Chart = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    steps |= {"x": [*times, now.strftime(DATETIME)], "y": [*values, values[-1]]}
    steps["line"] = {"color": "$ink", "width": 2, "shape": "hv"}
    points: Chart = {
        "type": "scatter",
        "mode": "markers",
        "x": times,
        "y": values,
        "hovertext": hover,
        "hoverinfo": "text",
    }
    points["marker"] = {"size": 11, "symbol": shapes, "color": colours, "line": {"color": "$surface", "width": 1.5}}
    data = [steps, points]
    labels = [
        data_annotation(
            f" belief {format_number(values[-1], 1)}",
            1,
            values[-1],
            xref="paper",
            xanchor="left",
            font={"color": "$ink", "size": 12},
        ),
        data_annotation(" protected", 1, policy.belief_protected, xref="paper", xanchor="left"),
    ]
    if days:
        uses: Chart = {"type": "scatter", "mode": "markers", "x": [f"{day.day:%Y-%m-%d} 12:00" for day in days]}
        uses |= {"y": [uses_y] * len(days), "hovertext": [f"used {day.count}× on {day.day:%-d %b %Y}" for day in days]}
        uses["marker"] = {"symbol": "line-ns-open", "size": 12, "line": {"width": 2}, "color": "$ink-3"}
        data.append({**uses, "hoverinfo": "text"})
        count = sum(day.count for day in days)
        labels.append(
            data_annotation(f" {count} use{'' if count == 1 else 's'}", 1, uses_y, xref="paper", xanchor="left")
        )
    top = max(policy.belief_protected, *values) + 0.6
    levels = sorted({4.0, 6.0, policy.belief_protected, *([MAX_BELIEF] if top > MAX_BELIEF else [])})
    dashed = {"color": "$ink-3", "width": 1, "dash": "dot"}
    return {
        "data": data,
        "layout": {
            "margin": {"l": 36, "r": 84, "t": 12, "b": 26},
            "xaxis": {"type": "date", "showgrid": False, "nticks": 7, **belief_range(changes[0].at, now)},
            "yaxis": {"range": [low, top], **axis_ticks(levels)},
            "shapes": [line_shape(0, 1, policy.belief_protected, policy.belief_protected, xref="paper", line=dashed)],
            "annotations": labels,
        },
        "narrow": {"margin": {"l": 24, "r": 76}, "xaxis": {"nticks": 3}},
    }


def belief_range(first: datetime, now: datetime) -> Chart:
    """The time axis of a new memory, widened so that its ticks are days; empty if Plotly's own range will do."""
    if now - first >= MIN_BELIEF_SPAN:
        return {}
    middle = first + (now - first) / 2
    return {"range": [(middle + side * MIN_BELIEF_SPAN / 2).strftime(DATETIME) for side in (-1, 1)], "dtick": DAY_MS}


def neighbours_chart(neighbours: list[MemoryNeighbour], policy: WritePolicyParams) -> Chart:
    """Neighbours by cosine, over the deduplication bands."""
    escalate, duplicate = policy.dedup_escalate, policy.dedup_duplicate
    low = min([*(neighbour.cosine for neighbour in neighbours), escalate - 0.2]) - 0.03
    fills = {"conflict": "$bad", "duplicate": "$ink", "to review": "$mark"}
    marker = {
        "size": 12,
        "color": [fills.get(neighbour.outcome, "$surface") for neighbour in neighbours],
        "symbol": ["x" if neighbour.outcome == "conflict" else "circle" for neighbour in neighbours],
        "line": {
            "color": ["$bad" if neighbour.outcome == "conflict" else "$ink" for neighbour in neighbours],
            "width": 1.5,
        },
    }
    hover = [
        f"{neighbour.memory.content[:90]}<br>cosine {format_number(neighbour.cosine, 3)}" for neighbour in neighbours
    ]
    dots: Chart = {
        "type": "scatter",
        "mode": "markers",
        "x": [neighbour.cosine for neighbour in neighbours],
        "y": [0] * len(neighbours),
    }
    dots |= {"marker": marker, "hovertext": [escape_markup(text) for text in hover], "hoverinfo": "text"}

    def band_shape(x0: float, x1: float, colour: str) -> Chart:
        rest = {"yref": "paper", "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        return {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1, **rest}

    def band_label(text: str, x: float, **more: Any) -> Chart:
        place = {"yref": "paper", "yanchor": "bottom", "font": {"size": 11, "color": "$ink-2"}, **more}
        return data_annotation(text, x, 1, **place)

    edge = {"color": "$ink-2", "width": 1.5}
    distinct = band_label("distinct", (low + escalate) / 2)
    wide = [distinct, band_label("ask the judge", (escalate + duplicate) / 2)]
    wide.append(band_label("duplicate", (duplicate + 1) / 2))
    narrow = [
        distinct,
        band_label("judge", duplicate, xanchor="right", xshift=-8),
        band_label("merge", 1.005, xanchor="right"),
    ]
    return {
        "data": [dots],
        "layout": {
            "margin": {"l": 8, "r": 12, "t": 22, "b": 24},
            "xaxis": {
                "range": [low, 1.005],
                "showgrid": False,
                **axis_ticks([0, 0.2, 0.4, 0.6, escalate, duplicate, 1]),
            },
            "yaxis": {"visible": False, "range": [-1, 1]},
            "shapes": [
                band_shape(escalate, duplicate, "$mark-soft"),
                band_shape(duplicate, 1.005, "$sunken"),
                line_shape(low, 1, 0, 0),
                *(line_shape(at, at, 0, 1, yref="paper", line=edge) for at in (escalate, duplicate)),
            ],
            "annotations": [*wide, *cosine_labels(neighbours, LABEL_GAP * (1 - low))],
        },
        "narrow": {"annotations": [*narrow, *cosine_labels(neighbours, NARROW_LABEL_GAP * (1 - low))]},
    }


def cosine_labels(neighbours: list[MemoryNeighbour], min_gap: float) -> list[Chart]:
    """Labels that do not overlap, alternately below and above the axis."""
    labelled: list[float] = []
    for neighbour in neighbours:
        if all(abs(cosine - neighbour.cosine) >= min_gap for cosine in labelled[-2:-1]):
            labelled.append(neighbour.cosine)
    return [
        data_annotation(format_number(cosine, 3), cosine, 0, yshift=15 if place % 2 else -15)
        for place, cosine in enumerate(labelled)
    ]


def memory_graph_chart(graph: MemoryGraph) -> Chart:
    """The memory in the middle, its entities on the left, linked memories on the right."""
    entities = [(mention.entity.name, mention.entity_id) for mention in graph.entities[:MAX_NODES]]
    linked = [
        (f"{edge.kind.replace('_', ' ')}: {other.content}", edge.kind)
        for edge, other, _ in graph.linked_memories[:MAX_NODES]
    ]
    left, right = even_positions(len(entities)), even_positions(len(linked))
    places = {id: (-1.0, y) for (_, id), y in zip(entities, left, strict=True)}
    shapes = [line_shape(0, x, 0, y) for x, y in places.values()]
    shapes += [
        line_shape(0, 1, 0, y, line={"color": "$bad" if kind == "contradiction" else "$control", "width": 1.5})
        for (_, kind), y in zip(linked, right, strict=True)
    ]
    labels = [
        data_annotation(
            escape_markup(truncate_label(name)), -1, y, xanchor="right", xshift=-9, font={"size": 12, "color": "$ink"}
        )
        for (name, _), y in zip(entities, left, strict=True)
    ]
    labels += [
        data_annotation(
            escape_markup(truncate_label(text, 40)),
            1,
            y,
            xanchor="left",
            xshift=9,
            font={"size": 11, "color": "$ink-2"},
        )
        for (text, _), y in zip(linked, right, strict=True)
    ]
    labels.append(data_annotation("this", 0, 0, yshift=17, font={"size": 12, "color": "$ink"}))
    dots: Chart = {"type": "scatter", "mode": "markers", "hoverinfo": "skip"}
    dots |= {"x": [0, *[-1] * len(left), *[1] * len(right)], "y": [0, *left, *right]}
    colours = ["$mark", *["$ink"] * len(left), *["$surface"] * len(right)]
    dots["marker"] = {"size": [15, *[9] * (len(left) + len(right))], "color": colours}
    dots["marker"]["line"] = {"color": "$ink", "width": 1.5}
    hidden = {"visible": False}
    return {
        "data": [dots],
        "layout": {
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "xaxis": {**hidden, "range": [-2.1, 3.3 if linked else 1.2]},
            "yaxis": {**hidden, "range": [-1.25, 1.25]},
            "shapes": shapes,
            "annotations": labels,
        },
        "narrow": {"xaxis": {"range": [-2.4, 1.2]}, "annotations": labels[: len(entities)] + labels[-1:]},
    }


def even_positions(count: int) -> list[float]:
    """Evenly spaced positions from 1 down to −1."""
    return [0.0] if count == 1 else [1 - 2 * place / (count - 1) for place in range(count)]
