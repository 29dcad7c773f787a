"""Charts of the Lab as plain figures: contributions over all candidates, and ranks joined by lines."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from memories.pages.lab.routes import Look, look
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.why_not import ordinal
from memories.templatetags.numbers import figure
from scoring.term import Array

MOST_BARS = 200
LONGEST = 34  # characters of a memory in a chart


def short(text: str) -> str:
    """The beginning of a text; Plotly would take a tag in it for one of its own."""
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…", quote=False)


def skyline(retrieval: Retrieval, parts: Mapping[str, Array]) -> dict[str, Any]:
    """All candidates by falling score, each parted by who brought it; what is held back stands pale."""
    ranking, signals = retrieval.ranking, retrieval.signals
    order = np.lexsort((signals.by_id, -ranking.score.value))[:MOST_BARS]
    held = ~np.logical_and.reduce([np.ones(len(signals), bool), *ranking.gates.values()])
    pale = held[order].any()
    drawn = {look(route): np.maximum(values[order], 0.0) for route, values in parts.items()}
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": one.name,
            "x0": 1,
            "y": brought.round(6).tolist(),
            "hoverinfo": "skip",
            "marker": {
                "color": colour(one.colour),
                "opacity": np.where(held[order], 0.3, 1.0).tolist() if pale else 1,
                "line": {"width": 0},
            },
        }
        for one, brought in drawn.items()
    ]
    total = ranking.score.value[order]
    data.append(said(total, [retrieval.batch.rows[row]["content"] for row in order], drawn))
    back = set(ranking.order.rows.tolist())
    last = max((place for place, row in enumerate(order.tolist(), 1) if row in back), default=0)
    in_order = not ranking.order.picks and 0 < last < len(order)
    cut = last + 0.5
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "hovermode": "x",
            "bargap": 0.18 if len(order) <= 60 else 0,
            "margin": {"l": 36, "r": 8, "t": 14, "b": 22},
            "xaxis": {"showgrid": False, "range": [0.4, max(len(order), 10) + 0.6], **ticks(len(order))},
            "yaxis": heights(float(total.max(initial=0.0))),
            "shapes": [rule(cut)] if in_order else [],
            "annotations": [note(cut, f" what comes back: {len(back)}")] if in_order else [],
        },
    }


def said(total: Array, contents: Sequence[str], drawn: Mapping[Look, Array]) -> dict[str, Any]:
    """What a bar says when it is pointed at: once for all its parts, since a page carries two hundred."""
    texts = [f"{short(content)}<br>{figure(whole, 4)}" for content, whole in zip(contents, total.tolist(), strict=True)]
    for one, brought in drawn.items():
        for place, value in enumerate(brought.tolist()):
            if value:
                texts[place] += f"<br>{one.name} {figure(value, 4)}"
    unseen = {"opacity": 0, "size": 1}
    return {
        "mode": "markers",
        "x0": 1,
        "y": total.round(6).tolist(),
        "hovertext": texts,
        "hoverinfo": "text",
        "marker": unseen,
    }


def colour(name: str) -> str:
    """A colour token; what no list brought is grey."""
    return "$ink-3" if name == "mid" else f"${name}"


def ticks(count: int) -> dict[str, Any]:
    """Ranks along the axis: the first, a few round ones, the last."""
    step = next((one for one in (5, 10, 20, 50) if count / one <= 6), 50)
    places = [1, *(one for one in range(step, count + 1, step))]
    return {"tickvals": places, "ticktext": [ordinal(1), *map(str, places[1:])]}


def heights(highest: float) -> dict[str, Any]:
    """Round scores up the axis, written as everywhere else."""
    top = highest or 1.0
    power = 10.0 ** math.floor(math.log10(top))
    step = next(one * power for one in (0.2, 0.25, 0.5, 1.0, 2.0) if top / (one * power) <= 5)
    values = [round(step * place, 9) for place in range(int(top / step) + 1)]
    return {"tickvals": values, "ticktext": [figure(value) for value in values], "range": [0, 1.12 * top]}


def rule(x: float) -> dict[str, Any]:
    """A dotted line over the whole height."""
    line = {"color": "$ink-3", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def note(x: float, text: str) -> dict[str, Any]:
    """The name of a line, where it is drawn."""
    return {
        "x": x,
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
        "xanchor": "left",
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": "$ink-3"},
    }


def skyline_label(retrieval: Retrieval) -> str:
    """What the skyline shows, for whoever does not see it."""
    score = retrieval.ranking.score.value
    if not len(score):
        return "No candidates."
    shown = f"the best {MOST_BARS} of {len(score)}" if len(score) > MOST_BARS else f"all {len(score)}"
    return f"Scores of {shown} candidates, stacked by list. The first stands at {figure(float(score.max()), 4)}."


def bump(columns: Mapping[str, Sequence[str]], names: Mapping[str, str], first: str) -> dict[str, Any]:
    """Lines that join each memory's ranks from column to column; one is drawn in ink."""
    titles = list(columns)
    deepest = max((len(ids) for ids in columns.values()), default=1)
    memories = list(dict.fromkeys(id for ids in columns.values() for id in ids))
    data = []
    for id in sorted(memories, key=lambda one: one == first):
        ranks = [ids.index(id) + 1 if id in ids else None for ids in columns.values()]
        ink = id == first
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": names[id],
                "x": list(range(len(titles))),
                "y": ranks,
                "text": ["" if rank is None else str(rank) for rank in ranks],
                "textfont": {"size": 10, "color": "$on-ink" if ink else "$ink-2"},
                "line": {"color": "$ink" if ink else "$control", "width": 2.5 if ink else 1},
                "marker": {
                    "size": 18,
                    "color": "$ink" if ink else "$surface",
                    "line": {"color": "$ink" if ink else "$control", "width": 1},
                },
                "hovertext": [f"{names[id]}<br>{ordinal(rank)}" if rank else "" for rank in ranks],
                "hoverinfo": "text",
                "connectgaps": False,
            }
        )
    left = next(iter(columns.values()))
    axis = {"tickvals": list(range(1, len(left) + 1)), "ticktext": [f"{names[id]}  " for id in left]}
    wide = {"side": "top", "showgrid": False, "tickvals": list(range(len(titles))), "ticktext": titles}
    return {
        "data": data,
        "layout": {
            "margin": {"l": 220, "r": 40, "t": 24, "b": 6},
            "xaxis": {**wide, "range": [-0.1, len(titles) - 0.8], "tickfont": {"size": 11.5, "color": "$ink-2"}},
            "yaxis": {
                "range": [deepest + 0.6, 0.4],
                "showgrid": False,
                **axis,
                "tickfont": {"size": 12, "color": "$ink-2"},
            },
        },
        "narrow": {
            "margin": {"l": 8, "r": 8, "t": 24, "b": 6},
            "yaxis": {"showticklabels": False},
            "xaxis": {"range": [-0.3, len(titles) - 0.7], "tickfont": {"size": 10}},
        },
    }
