"""Plotly charts of the Lab: score contributions of all candidates (skyline) and ranks by system (bump chart)."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from memories.contracts.number_format import format_number
from memories.pages.retriever_styles import RetrieverStyle, retriever_style
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.why_not import ordinal
from scoring.term import Array

MAX_BARS = 200
MAX_LABEL_CHARS = 34  # characters of a memory in a chart


def short_chart_label(text: str) -> str:
    """A truncated memory text; escaped, because Plotly interprets HTML tags."""
    return escape(text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1].rstrip() + "…", quote=False)


def skyline_chart(retrieval: Retrieval, contributions: Mapping[str, Array]) -> dict[str, Any]:
    """Stacked bars of all candidates by descending score, split by retriever; filtered ones are pale."""
    ranking, signals = retrieval.ranking, retrieval.signals
    order = np.lexsort((signals.id_ranks, -ranking.score.value))[:MAX_BARS]
    filtered = ~np.logical_and.reduce([np.ones(len(signals), bool), *ranking.gates.values()])
    any_filtered = filtered[order].any()
    segments = {retriever_style(name): np.maximum(values[order], 0.0) for name, values in contributions.items()}
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": style.name,
            "x0": 1,
            "y": values.round(6).tolist(),
            "hoverinfo": "skip",
            "marker": {
                "color": colour_token(style.colour),
                "opacity": np.where(filtered[order], 0.3, 1.0).tolist() if any_filtered else 1,
                "line": {"width": 0},
            },
        }
        for style, values in segments.items()
    ]
    total = ranking.score.value[order]
    data.append(hover_trace(total, [retrieval.candidates.rows[row]["content"] for row in order], segments))
    returned = set(ranking.order.rows.tolist())
    last = max((rank for rank, row in enumerate(order.tolist(), 1) if row in returned), default=0)
    in_order = not ranking.order.picks and 0 < last < len(order)
    cut = last + 0.5
    return {
        "data": data,
        "layout": {
            "barmode": "stack",
            "hovermode": "x",
            "bargap": 0.18 if len(order) <= 60 else 0,
            "margin": {"l": 36, "r": 8, "t": 14, "b": 22},
            "xaxis": {"showgrid": False, "range": [0.4, max(len(order), 10) + 0.6], **rank_ticks(len(order))},
            "yaxis": score_axis(float(total.max(initial=0.0))),
            "shapes": [vertical_rule(cut)] if in_order else [],
            "annotations": [vertical_rule_label(cut, f" returned: {len(returned)}")] if in_order else [],
        },
    }


def hover_trace(total: Array, contents: Sequence[str], contributions: Mapping[RetrieverStyle, Array]) -> dict[str, Any]:
    """An invisible trace with one hover text per bar; a text per segment would bloat the page."""
    texts = [
        f"{short_chart_label(content)}<br>{format_number(score, 4)}"
        for content, score in zip(contents, total.tolist(), strict=True)
    ]
    for style, values in contributions.items():
        for bar, value in enumerate(values.tolist()):
            if value:
                texts[bar] += f"<br>{style.name} {format_number(value, 4)}"
    invisible = {"opacity": 0, "size": 1}
    return {
        "mode": "markers",
        "x0": 1,
        "y": total.round(6).tolist(),
        "hovertext": texts,
        "hoverinfo": "text",
        "marker": invisible,
    }


def colour_token(name: str) -> str:
    """Plotly reference to a colour token; parts without a retriever are grey."""
    return "$ink-3" if name == "mid" else f"${name}"


def rank_ticks(count: int) -> dict[str, Any]:
    """Ticks of the rank axis: the first rank and a few round ones."""
    step = next((step for step in (5, 10, 20, 50) if count / step <= 6), 50)
    ranks = [1, *range(step, count + 1, step)]
    return {"tickvals": ranks, "ticktext": [ordinal(1), *map(str, ranks[1:])]}


def score_axis(highest: float) -> dict[str, Any]:
    """Score axis with round ticks in the site's number format."""
    top = highest or 1.0
    power = 10.0 ** math.floor(math.log10(top))
    step = next(factor * power for factor in (0.2, 0.25, 0.5, 1.0, 2.0) if top / (factor * power) <= 5)
    values = [round(step * tick, 9) for tick in range(int(top / step) + 1)]
    return {"tickvals": values, "ticktext": [format_number(value) for value in values], "range": [0, 1.12 * top]}


def vertical_rule(x: float) -> dict[str, Any]:
    """A dotted vertical line over the full height."""
    line = {"color": "$ink-3", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def vertical_rule_label(x: float, text: str) -> dict[str, Any]:
    """The label of a vertical rule."""
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
    """Text alternative of the skyline."""
    score = retrieval.ranking.score.value
    if not len(score):
        return "No candidates."
    drawn = f"the best {MAX_BARS} of {len(score)}" if len(score) > MAX_BARS else f"all {len(score)}"
    return f"Scores of {drawn} candidates, stacked by retriever. The highest is {format_number(float(score.max()), 4)}."


def bump_chart(columns: Mapping[str, Sequence[str]], names: Mapping[str, str], highlighted: str) -> dict[str, Any]:
    """Lines that join each memory's rank from system to system; one memory is highlighted."""
    titles = list(columns)
    lowest_rank = max((len(ids) for ids in columns.values()), default=1)
    memories = list(dict.fromkeys(id for ids in columns.values() for id in ids))
    data = []
    for id in sorted(memories, key=lambda id: id == highlighted):
        ranks = [ids.index(id) + 1 if id in ids else None for ids in columns.values()]
        ink = id == highlighted
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
    top_axis = {"side": "top", "showgrid": False, "tickvals": list(range(len(titles))), "ticktext": titles}
    return {
        "data": data,
        "layout": {
            "margin": {"l": 220, "r": 40, "t": 24, "b": 6},
            "xaxis": {**top_axis, "range": [-0.1, len(titles) - 0.8], "tickfont": {"size": 11.5, "color": "$ink-2"}},
            "yaxis": {
                "range": [lowest_rank + 0.6, 0.4],
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
