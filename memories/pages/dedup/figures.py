"""The histogram of nearest neighbours, with the two thresholds as lines."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memories.pages.dedup.survey import LEAST, Pair
from memories.templatetags.numbers import figure as written
from scoring.dedup import Band
from scoring.policy import WritePolicyParams

WIDTH = 0.01  # of a bar
WIDE = 0.05  # of a row of the table
COLOURS: Mapping[Band, str] = {"distinct": "$control", "escalate": "$mark-line", "duplicate": "$ink"}


class Bin(NamedTuple):
    """The pairs between two cosines, the upper one included."""

    low: float
    high: float
    pairs: int


def bins(cosines: Iterable[float], width: float) -> list[Bin]:
    """Pairs by their cosine, in equal steps that end at 1; steps without a pair are left out."""
    # Counted from the top: a threshold is the upper edge of a bar, as merging begins above it.
    steps = Counter(math.floor(round((1.0 - cosine) / width, 6)) for cosine in cosines)
    return [
        Bin(round(1.0 - (step + 1) * width, 6), round(1.0 - step * width, 6), count)
        for step, count in sorted(steps.items(), reverse=True)
    ]


def histogram(
    bands: Mapping[Band, Sequence[Pair]], policy: WritePolicyParams, served: WritePolicyParams
) -> dict[str, Any]:
    """Bars by band, a named line for each threshold, and dotted where they stand under the policy that serves."""
    counted = {name: bins((pair.near.cosine for pair in bands[name]), WIDTH) for name in COLOURS}
    lowest = min((one.low for some in counted.values() for one in some), default=LEAST)
    left = min(math.floor(lowest * 20) / 20, LEAST - WIDE)
    moved = [
        line(start, "$control", "dot")
        for start, now in zip(thresholds(served), thresholds(policy), strict=True)
        if start != now
    ]
    duplicate, escalate = thresholds(policy)
    return {
        "data": [bars(some, name) for name, some in counted.items()],
        "layout": {
            "margin": {"l": 40, "r": 16, "t": 44, "b": 40},
            "barmode": "stack",
            "bargap": 0,
            "xaxis": {"range": [left, 1.0], "title": {"text": "cosine to the nearest neighbour"}, **ticks(left)},
            "yaxis": {"title": {"text": "pairs"}, "rangemode": "tozero", "tickformat": ",d", "nticks": 6},
            # The script finds the lines by their names.
            "shapes": [
                line(duplicate, "$ink", "solid", name="dedup_duplicate"),
                line(escalate, "$mark-line", "solid", name="dedup_escalate"),
                *moved,
            ],
            "annotations": [
                named(duplicate, f"merged above {written(duplicate)} ⇔", 22),
                named(escalate, f"judged from {written(escalate)} ⇔", 4),
            ],
        },
        "narrow": {"margin": {"l": 34, "r": 10, "t": 44, "b": 40}},
    }


def ticks(left: float) -> dict[str, Any]:
    """A tick at each tenth, written as all numbers are."""
    tenths = [step / 10 for step in range(math.ceil(round(left * 10, 6)), 11)]
    return {"tickvals": tenths, "ticktext": [written(at) for at in tenths], "showgrid": False}


def thresholds(policy: WritePolicyParams) -> tuple[float, float]:
    """Above which two are one, and from which a judge is asked."""
    return policy.dedup_duplicate, policy.dedup_escalate


def bars(some: Sequence[Bin], name: Band) -> dict[str, Any]:
    """The bars of one band."""
    return {
        "type": "bar",
        "x": [round((one.low + one.high) / 2, 6) for one in some],
        "y": [one.pairs for one in some],
        "width": WIDTH,
        "marker": {"color": COLOURS[name], "line": {"color": "$surface", "width": 1}},
        "hovertext": [f"{told(one.pairs)} above {written(one.low)}, up to {written(one.high)}: {name}" for one in some],
        "hoverinfo": "text",
    }


def told(pairs: int) -> str:
    """So many pairs, in words."""
    return "1 pair" if pairs == 1 else f"{pairs} pairs"


def line(at: float, colour: str, dash: str, **more: str) -> dict[str, Any]:
    """A threshold from top to bottom."""
    ends = {"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **ends, "line": {"color": colour, "width": 2, "dash": dash}, **more}


def named(at: float, text: str, above: int) -> dict[str, Any]:
    """A threshold's name at the upper end of its line, left of it; two lines never share a height."""
    place = {"x": at, "y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom", "yshift": above, "xshift": 10}
    return {"text": text, "showarrow": False, "font": {"size": 12, "color": "$ink"}, **place}
