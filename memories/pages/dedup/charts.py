"""Charts of the Dedup page: the histogram of nearest neighbours with both thresholds."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.template.defaultfilters import pluralize

from memories.contracts.number_format import format_number
from memories.pages.dedup.pair_survey import MIN_COSINE, SurveyPair
from scoring.dedup import Band
from scoring.policy import WritePolicyParams

BAR_WIDTH = 0.01
TABLE_STEP = 0.05  # of cosine, per row of the table
BAND_COLOURS: Mapping[Band, str] = {"distinct": "$control", "escalate": "$mark-line", "duplicate": "$ink"}


class CosineBin(NamedTuple):
    """The pairs between two cosines, the upper one included."""

    low: float
    high: float
    pairs: int


def cosine_bins(cosines: Iterable[float], width: float) -> list[CosineBin]:
    """Pairs by cosine, in equal steps that end at 1; empty steps are left out."""
    # Counted from the top: a threshold is the upper edge of a bar, as merging begins above it.
    steps = Counter(math.floor(round((1.0 - cosine) / width, 6)) for cosine in cosines)
    return [
        CosineBin(round(1.0 - (step + 1) * width, 6), round(1.0 - step * width, 6), count)
        for step, count in sorted(steps.items(), reverse=True)
    ]


def cosine_histogram(
    bands: Mapping[Band, Sequence[SurveyPair]], policy: WritePolicyParams, serving: WritePolicyParams
) -> dict[str, Any]:
    """Bars by band, a labelled line for each threshold, dotted lines for the serving policy's."""
    bins = {band: cosine_bins((pair.cosine for pair in bands[band]), BAR_WIDTH) for band in BAND_COLOURS}
    lowest = min((bin.low for band_bins in bins.values() for bin in band_bins), default=MIN_COSINE)
    left = min(math.floor(lowest * 20) / 20, MIN_COSINE - TABLE_STEP)
    duplicate, escalate = policy_thresholds(policy)
    serving_lines = [
        threshold_line(before, "$control", "dot")
        for before, current in zip(policy_thresholds(serving), (duplicate, escalate), strict=True)
        if before != current
    ]
    return {
        "data": [band_bars(band_bins, band) for band, band_bins in bins.items()],
        "layout": {
            "margin": {"l": 40, "r": 16, "t": 44, "b": 40},
            "barmode": "stack",
            "bargap": 0,
            "xaxis": {"range": [left, 1.0], "title": {"text": "cosine to the nearest neighbour"}, **cosine_ticks(left)},
            "yaxis": {"title": {"text": "pairs"}, "rangemode": "tozero", "tickformat": ",d", "nticks": 6},
            # The script finds the lines by their names.
            "shapes": [
                threshold_line(duplicate, "$ink", "solid", name="dedup_duplicate"),
                threshold_line(escalate, "$mark-line", "solid", name="dedup_escalate"),
                *serving_lines,
            ],
            "annotations": [
                threshold_label(duplicate, f"restatements merged above {format_number(duplicate)} ⇔", 22),
                threshold_label(escalate, f"judged from {format_number(escalate)} ⇔", 4),
            ],
        },
        "narrow": {"margin": {"l": 34, "r": 10, "t": 44, "b": 40}},
    }


def cosine_ticks(left: float) -> dict[str, Any]:
    """A tick at each tenth."""
    tenths = [step / 10 for step in range(math.ceil(round(left * 10, 6)), 11)]
    return {"tickvals": tenths, "ticktext": [format_number(tick) for tick in tenths], "showgrid": False}


def policy_thresholds(policy: WritePolicyParams) -> tuple[float, float]:
    """The thresholds for merging and for judging."""
    return policy.dedup_duplicate, policy.dedup_escalate


def band_bars(bins: Sequence[CosineBin], band: Band) -> dict[str, Any]:
    """The bars of one band."""
    return {
        "type": "bar",
        "x": [round((bin.low + bin.high) / 2, 6) for bin in bins],
        "y": [bin.pairs for bin in bins],
        "width": BAR_WIDTH,
        "marker": {"color": BAND_COLOURS[band], "line": {"color": "$surface", "width": 1}},
        "hovertext": [
            f"{bin.pairs} pair{pluralize(bin.pairs)} above {format_number(bin.low)},"
            f" up to {format_number(bin.high)}: {band}"
            for bin in bins
        ],
        "hoverinfo": "text",
    }


def threshold_line(cosine: float, colour: str, dash: str, **more: str) -> dict[str, Any]:
    """A vertical line over the full height."""
    ends = {"x0": cosine, "x1": cosine, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **ends, "line": {"color": colour, "width": 2, "dash": dash}, **more}


def threshold_label(cosine: float, text: str, above: int) -> dict[str, Any]:
    """The label above a line, to its left; `above` keeps two labels at different heights."""
    place = {"y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom", "yshift": above, "xshift": 10}
    return {"text": text, "showarrow": False, "font": {"size": 12, "color": "$ink"}, "x": cosine, **place}
