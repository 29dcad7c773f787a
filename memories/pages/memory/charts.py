"""The figures of one memory, as plain data and layout for Plotly; colours are tokens."""

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from memories.models import DailyAccess, Memory
from memories.pages.memory.evidence_history import Change, Waterfall
from memories.pages.memory.surroundings import Near, Surroundings
from memories.templatetags.numbers import about, figure, signed
from scoring.belief import MAX_BELIEF
from scoring.freshness import effective_freshness
from scoring.policy import WritePolicyParams
from scoring.systems.recall import FreshnessParams

Figure = dict[str, Any]
POINTS = 121  # of a curve
LEAST_APART = 0.03  # cosines of two labels on one side
LABEL = 26  # characters of a label in the graph
SMALL = {"size": 11, "color": "$ink-3"}
THIN = {"color": "$line-2", "width": 1}


def note(text: str, x: Any, y: Any, **more: Any) -> Figure:
    """A text at a place of a figure."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": SMALL, **more}


def line(x0: Any, x1: Any, y0: Any, y1: Any, **more: Any) -> Figure:
    """A thin line of a figure."""
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "layer": "below", "line": THIN, **more}


def confidence_figure(whole: Waterfall, least: float, high: float) -> Figure:
    """The four signals one after the other, what was taken off, and what remains; with the two thresholds."""
    names = [part.name for part in whole.parts]
    told = [f"{figure(part.weight, 2)} × {about(part.signal)} = {figure(part.value, 4)}" for part in whole.parts]
    steps: Figure = {"type": "bar", "orientation": "h", "y": names, "x": [part.value for part in whole.parts]}
    steps |= {"base": [part.start for part in whole.parts], "marker": {"color": "$control"}}
    steps |= {"hovertext": told, "hoverinfo": "text"}
    data = [steps]
    if whole.taken:
        off: Figure = {"type": "bar", "orientation": "h", "y": [whole.taken_by], "x": [-whole.taken]}
        data.append({**off, "base": [whole.confidence], "marker": {"color": "$bad"}, "hoverinfo": "skip"})
    end: Figure = {"type": "bar", "orientation": "h", "y": ["Confidence"], "x": [whole.confidence]}
    data.append({**end, "marker": {"color": "$ink"}, "hoverinfo": "skip"})
    order = ["Confidence", whole.taken_by, *reversed(names)]
    ends = [part.start + part.value for part in whole.parts]
    joints = [
        line(at, at, len(order) - 1 - place, len(order) - 2 - place, line={**THIN, "color": "$control", "dash": "dot"})
        for place, at in enumerate(ends[:-1])
    ]
    amounts = [(part.name, signed(part.value, 4)) for part in whole.parts]
    amounts += [(whole.taken_by, signed(whole.taken, 4) if whole.taken else "0")]
    beside = [
        note(text, 1, name, xref="paper", xanchor="right", xshift=56, font={"size": 12, "color": "$ink"})
        for name, text in amounts
    ]
    bold = {"size": 13, "color": "$ink", "weight": 600}
    beside.append(
        note(figure(whole.confidence, 4), 1, "Confidence", xref="paper", xanchor="right", xshift=56, font=bold)
    )
    marks = [note(f"retrieved from {figure(least)}", least, 1, yref="paper", yanchor="bottom")]
    marks.append(note("high", high, 1, yref="paper", yanchor="bottom"))
    short = [note(f"floor {figure(least)}", least, 1, yref="paper", yanchor="bottom"), marks[1]]
    return {
        "data": data,
        "layout": {
            "barmode": "overlay",
            "bargap": 0.4,
            "margin": {"l": 82, "r": 64, "t": 20, "b": 22},
            "xaxis": {"range": [0, 1], "showgrid": False, **ticks([0, 0.25, 0.5, 0.75, 1])},
            "yaxis": {
                "categoryorder": "array",
                "categoryarray": order,
                "tickfont": {"size": 12, "color": "$ink-2"},
                "ticksuffix": " ",
                "showgrid": False,
            },
            "shapes": [*(line(at, at, 0, 1, yref="paper") for at in (0, least, high)), *joints],
            "annotations": [*marks, *beside],
        },
        "narrow": {"annotations": [*short, *beside], "xaxis": ticks([0, 0.5, 1])},
    }


def ticks(values: list[float]) -> Figure:
    """Ticks written as all numbers are."""
    return {"tickvals": values, "ticktext": [figure(value) for value in values]}


def curve(days: Any, half_life: float, floor: float) -> list[float]:
    """Freshness at some ages."""
    return [round(float(one), 4) for one in effective_freshness(days, half_life, floor)]


def floor_from(memory: Memory, half_life: float, floor: float) -> datetime | None:
    """When a memory's freshness reaches the floor; never where there is none."""
    return memory.created_at + timedelta(days=half_life * -math.log2(floor)) if floor > 0 else None


def decay_figure(memory: Memory, now: datetime, tau: str, chosen: FreshnessParams, usual: FreshnessParams) -> Figure:
    """Freshness from the day it was stored, today marked; the served curve dotted where another is tried."""
    half_life, served = getattr(chosen, tau), getattr(usual, tau)
    age = max((now - memory.created_at) / timedelta(days=1), 0.0)
    reach = max(1.25 * age, 4.2 * served)
    days = np.linspace(0.0, reach, POINTS)
    dates = [(memory.created_at + timedelta(days=float(day))).strftime("%Y-%m-%d %H:%M") for day in days]
    today, kept = now.strftime("%Y-%m-%d %H:%M"), curve(np.array([age]), half_life, chosen.freshness_floor)[0]
    data: list[Figure] = []
    notes = []
    if chosen != usual:
        other = curve(days, served, usual.freshness_floor)
        data.append({"type": "scatter", "mode": "lines", "x": dates, "y": other, "hoverinfo": "skip"})
        data[-1]["line"] = {"color": "$control", "width": 1.5, "dash": "dot"}
        place = POINTS // 2
        notes.append(note(f"served: τ {about(served)}", dates[place], other[place], xanchor="left", yanchor="bottom"))
    values = curve(days, half_life, chosen.freshness_floor)
    data.append({"type": "scatter", "mode": "lines", "x": dates, "y": values, "line": {"color": "$ink", "width": 2.5}})
    data[-1]["hovertemplate"] = "%{x|%-d %b %Y}: %{y:.2f}<extra></extra>"
    dot = {"size": 13, "color": "$mark", "line": {"color": "$ink", "width": 2}}
    data.append({"type": "scatter", "mode": "markers", "x": [today], "y": [kept], "marker": dot, "hoverinfo": "skip"})
    late = age > reach / 2
    notes.append(
        note(
            f"today, day {int(age)}: {figure(kept, 2)}",
            today,
            kept,
            xanchor="right" if late else "left",
            yanchor="bottom",
            xshift=-8 if late else 8,
            yshift=8,
            font={"color": "$ink", "size": 12},
        )
    )
    if chosen.freshness_floor > 0:
        low = chosen.freshness_floor
        notes.append(note(f"floor {figure(low, 2)}", 1, low, xref="paper", xanchor="right", yanchor="top", yshift=-2))
    return {
        "data": data,
        "layout": {
            "margin": {"l": 36, "r": 14, "t": 20, "b": 26},
            "xaxis": {"type": "date", "showgrid": False, "tickformat": "%b %Y", "nticks": 6},
            "yaxis": {"range": [0, 1.06], **ticks([0, 0.25, 0.5, 0.75, 1])},
            "shapes": [line(today, today, 0, kept, line={"color": "$ink-3", "width": 1, "dash": "dot"})],
            "annotations": notes,
        },
        "narrow": {"xaxis": {"nticks": 4}},
    }


SYMBOLS = {"contradicted": "x", "corroborated": "triangle-up", "confirmed": "diamond"}


def belief_figure(changes: list[Change], days: list[DailyAccess], now: datetime, policy: WritePolicyParams) -> Figure:
    """Belief from event to event, and the days of use below it."""
    at = [change.at.strftime("%Y-%m-%d %H:%M") for change in changes]
    values = [change.belief for change in changes]
    low = min([*values, 4.0]) - 1.2
    used = low + 0.45
    told = [f"{change.at:%-d %b %Y}: {change.what.lower()}, belief {about(change.belief)}" for change in changes]
    colours = ["$bad" if change.event.cause == "contradicted" else "$ink" for change in changes]
    shapes = [SYMBOLS.get(change.event.cause, "circle") for change in changes]
    steps: Figure = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    steps |= {"x": [*at, now.strftime("%Y-%m-%d %H:%M")], "y": [*values, values[-1]]}
    steps["line"] = {"color": "$ink", "width": 2, "shape": "hv"}
    marks: Figure = {"type": "scatter", "mode": "markers", "x": at, "y": values, "hovertext": told, "hoverinfo": "text"}
    marks["marker"] = {"size": 11, "symbol": shapes, "color": colours, "line": {"color": "$surface", "width": 1.5}}
    data = [steps, marks]
    notes = [
        note(
            f" belief {figure(values[-1], 1)}",
            1,
            values[-1],
            xref="paper",
            xanchor="left",
            font={"color": "$ink", "size": 12},
        ),
        note(" protected", 1, policy.belief_protected, xref="paper", xanchor="left"),
    ]
    if days:
        uses: Figure = {"type": "scatter", "mode": "markers", "x": [f"{day.day:%Y-%m-%d} 12:00" for day in days]}
        uses |= {"y": [used] * len(days), "hovertext": [f"used {day.count}× on {day.day:%-d %b %Y}" for day in days]}
        uses["marker"] = {"symbol": "line-ns-open", "size": 12, "line": {"width": 2}, "color": "$ink-3"}
        data.append({**uses, "hoverinfo": "text"})
        count = sum(day.count for day in days)
        notes.append(note(f" {count} use{'' if count == 1 else 's'}", 1, used, xref="paper", xanchor="left"))
    top = max(policy.belief_protected, *values) + 0.6
    levels = sorted({4.0, 6.0, policy.belief_protected, *([MAX_BELIEF] if top > MAX_BELIEF else [])})
    dashed = {"color": "$ink-3", "width": 1, "dash": "dot"}
    return {
        "data": data,
        "layout": {
            "margin": {"l": 36, "r": 84, "t": 12, "b": 26},
            "xaxis": {"type": "date", "showgrid": False, "nticks": 7},
            "yaxis": {"range": [low, top], **ticks(levels)},
            "shapes": [line(0, 1, policy.belief_protected, policy.belief_protected, xref="paper", line=dashed)],
            "annotations": notes,
        },
        "narrow": {"margin": {"l": 24, "r": 76}, "xaxis": {"nticks": 3}},
    }


def neighbours_figure(found: list[Near], policy: WritePolicyParams) -> Figure:
    """Neighbours on the scale of cosines, with the bands of deduplication behind them."""
    escalate, duplicate = policy.dedup_escalate, policy.dedup_duplicate
    low = min([*(one.cosine for one in found), escalate - 0.2]) - 0.03
    fills = {"conflict": "$bad", "duplicate": "$ink", "to review": "$mark"}
    marker = {
        "size": 12,
        "color": [fills.get(one.outcome, "$surface") for one in found],
        "symbol": ["x" if one.outcome == "conflict" else "circle" for one in found],
        "line": {"color": ["$bad" if one.outcome == "conflict" else "$ink" for one in found], "width": 1.5},
    }
    told = [f"{one.memory.content[:90]}<br>cosine {figure(one.cosine, 3)}" for one in found]
    dots: Figure = {"type": "scatter", "mode": "markers", "x": [one.cosine for one in found], "y": [0] * len(found)}
    dots |= {"marker": marker, "hovertext": [escaped(text) for text in told], "hoverinfo": "text"}

    def band(x0: float, x1: float, colour: str) -> Figure:
        rest = {"yref": "paper", "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        return {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1, **rest}

    def named(text: str, x: float) -> Figure:
        return note(text, x, 1, yref="paper", yanchor="bottom", font={"size": 11, "color": "$ink-2"})

    edge = {"color": "$ink-2", "width": 1.5}
    cosines = [
        note(figure(one.cosine, 3), one.cosine, 0, yshift=15 if place % 2 else -15)
        for place, one in enumerate(apart(found))
    ]
    bands = [named("distinct", (low + escalate) / 2), named("duplicate", (duplicate + 1) / 2)]
    return {
        "data": [dots],
        "layout": {
            "margin": {"l": 8, "r": 12, "t": 22, "b": 24},
            "xaxis": {"range": [low, 1.005], "showgrid": False, **ticks([0, 0.2, 0.4, 0.6, escalate, duplicate, 1])},
            "yaxis": {"visible": False, "range": [-1, 1]},
            "shapes": [
                band(escalate, duplicate, "$mark-soft"),
                band(duplicate, 1.005, "$sunken"),
                line(low, 1, 0, 0),
                *(line(at, at, 0, 1, yref="paper", line=edge) for at in (escalate, duplicate)),
            ],
            "annotations": [*bands, named("ask the judge", (escalate + duplicate) / 2), *cosines],
        },
        "narrow": {"annotations": [*bands, named("judge", (escalate + duplicate) / 2), *cosines]},
    }


def apart(found: list[Near]) -> list[Near]:
    """Those whose labels would not lie on each other: above and below the line take turns."""
    shown: list[Near] = []
    for one in found:
        if all(abs(other.cosine - one.cosine) >= LEAST_APART for other in shown[-2:-1]):
            shown.append(one)
    return shown


def escaped(text: str) -> str:
    """Text of a memory inside a figure: Plotly would read its angle brackets as markup."""
    return text.replace("<br>", "\0").replace("<", "‹").replace(">", "›").replace("\0", "<br>")


def graph_figure(around: Surroundings) -> Figure:
    """The memory in the middle, what it names on the left, the memories it is joined with on the right."""
    entities = [(one.entity.name, one.entity_id) for one in around.entities[:10]]
    joined = [(f"{edge.kind.replace('_', ' ')}: {other.content}", edge.kind) for edge, other, _ in around.joined[:10]]
    left, right = spread(len(entities)), spread(len(joined))
    places = {id: (-1.0, y) for (_, id), y in zip(entities, left, strict=True)}
    shapes = [line(0, x, 0, y) for x, y in places.values()]
    shapes += [
        line(0, 1, 0, y, line={"color": "$bad" if kind == "contradiction" else "$control", "width": 1.5})
        for (_, kind), y in zip(joined, right, strict=True)
    ]
    notes = [
        note(escaped(short(name)), -1, y, xanchor="right", xshift=-9, font={"size": 12, "color": "$ink"})
        for (name, _), y in zip(entities, left, strict=True)
    ]
    notes += [
        note(escaped(short(text, 40)), 1, y, xanchor="left", xshift=9, font={"size": 11, "color": "$ink-2"})
        for (text, _), y in zip(joined, right, strict=True)
    ]
    notes.append(note("this", 0, 0, yshift=17, font={"size": 12, "color": "$ink"}))
    dots: Figure = {"type": "scatter", "mode": "markers", "hoverinfo": "skip"}
    dots |= {"x": [0, *[-1] * len(left), *[1] * len(right)], "y": [0, *left, *right]}
    colours = ["$mark", *["$ink"] * len(left), *["$surface"] * len(right)]
    dots["marker"] = {"size": [15, *[9] * (len(left) + len(right))], "color": colours}
    dots["marker"]["line"] = {"color": "$ink", "width": 1.5}
    hidden = {"visible": False}
    return {
        "data": [dots],
        "layout": {
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "xaxis": {**hidden, "range": [-2.1, 3.3 if joined else 1.2]},
            "yaxis": {**hidden, "range": [-1.25, 1.25]},
            "shapes": shapes,
            "annotations": notes,
        },
        "narrow": {"xaxis": {"range": [-2.4, 1.2]}, "annotations": notes[: len(entities)] + notes[-1:]},
    }


def spread(count: int) -> list[float]:
    """Places from top to bottom."""
    return [0.0] if count == 1 else [1 - 2 * place / (count - 1) for place in range(count)]


def short(text: str, most: int = LABEL) -> str:
    """A label that fits."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
