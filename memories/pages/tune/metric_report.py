"""The Tune page's report on a configuration: metrics with intervals, categories, queries won and lost."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from memories.models import JudgedQuery
from memories.pages import sliders
from memories.pages.tune.forms import TuneState
from memories.tuning.evaluation_records import split_categories
from memories.tuning.measurement import (
    FALSE_ABSTENTION,
    FALSE_ANSWER,
    METRIC_NAMES,
    Measurement,
    PairedComparison,
    compare_measurements,
)
from scoring.resampling import Interval, bootstrap

MAX_QUERIES_LISTED = 6  # of those won, and of those lost
UNJUDGED_WARNING_FROM = 0.95  # share of unjudged results from which the metric means little
STRIP_PADDING = 0.01  # on both sides of the wider interval


def tune_report(state: TuneState, before: Measurement, after: Measurement) -> dict[str, Any]:
    """The whole report; differences are against the start."""
    start, now = (measurement.intervals(state.split) for measurement in (before, after))
    comparison = compare_measurements(before, after, state.metric, state.split)
    shown = (state.metric, *(name for name in ("ndcg@10", "recall@10", "mrr") if name != state.metric))[:3]
    return {
        "metrics": [metric_strip(name, start[name], now[name]) for name in shown],
        "queries": int(after.query_mask(state.metric, state.split).sum()),
        "abstention": abstention_errors(state, before, after, now),
        "unjudged": after.unjudged_share(state.split),
        "mostly_unjudged": after.unjudged_share(state.split) >= UNJUDGED_WARNING_FROM,
        "comparison": comparison,
        "categories": category_rows(state, before, after),
        **won_and_lost(state, before, after, comparison),
    }


def metric_strip(name: str, before: Interval, after: Interval) -> dict[str, Any]:
    """One metric with both intervals, positioned on a strip in percent of its width."""
    low, high = min(before.low, after.low) - STRIP_PADDING, max(before.high, after.high) + STRIP_PADDING
    width = 0.72 * 100 / (high - low)  # the rest is room for the labels

    def positions(interval: Interval) -> dict[str, float]:
        return {name: (getattr(interval, name) - low) * width for name in ("low", "mean", "high")}

    change = after.mean - before.mean
    return {
        "name": METRIC_NAMES[name],
        "now": after,
        "start": before,
        "change": change,
        "now_at": positions(after),
        "start_at": positions(before),
    }


def abstention_errors(
    state: TuneState, before: Measurement, after: Measurement, intervals: Mapping[str, Interval]
) -> dict[str, Any]:
    """Counts of false answers and false abstentions."""
    counts = {}
    for name, error in (("false_answer", FALSE_ANSWER), ("false_abstention", FALSE_ABSTENTION)):
        mask = after.query_mask(error, state.split)
        now, start = (int(measurement.per_query[error][mask].sum()) for measurement in (after, before))
        counts[name] = {"now": now, "change": now - start, "of": int(mask.sum()), "share": intervals.get(error)}
    return counts


def category_rows(state: TuneState, before: Measurement, after: Measurement) -> list[dict[str, Any]]:
    """The metric by category, largest category first."""
    rows = []
    for name in split_categories(after, state.split):
        mask = after.query_mask(state.metric, state.split, name)
        if mask.any():
            start, values = float(before.per_query[state.metric][mask].mean()), after.per_query[state.metric][mask]
            [now] = bootstrap(values[:, None])  # only this metric: a moved slider waits for it
            change = now.mean - start
            rows.append({"name": name, "queries": len(values), "start": start, "now": now, "change": change})
    return rows


def won_and_lost(
    state: TuneState, before: Measurement, after: Measurement, comparison: PairedComparison
) -> dict[str, Any]:
    """Counts of queries won and lost, and the largest changes with links into the Lab."""
    order = np.argsort(-comparison.deltas, kind="stable")
    won = [row for row in order[:MAX_QUERIES_LISTED].tolist() if comparison.deltas[row] > 0]
    lost = [row for row in order[::-1][:MAX_QUERIES_LISTED].tolist() if comparison.deltas[row] < 0]
    same = int(after.query_mask(state.metric, state.split).sum()) - comparison.won - comparison.lost
    total = max(comparison.won + same + comparison.lost, 1)
    return {
        "same": same,
        "shares": {
            "won": 100 * comparison.won / total,
            "same": 100 * same / total,
            "lost": 100 * comparison.lost / total,
        },
        "lost_at": 100 * (comparison.won + same) / total,
        "won": query_change_rows(state, before, after, won),
        "lost": query_change_rows(state, before, after, lost),
    }


def query_change_rows(
    state: TuneState, before: Measurement, after: Measurement, rows: Sequence[int]
) -> list[dict[str, Any]]:
    """Queries with their metric at the start and now."""
    return [
        {
            "text": after.arrays.queries[row].text,
            "start": float(before.per_query[state.metric][row]),
            "now": float(after.per_query[state.metric][row]),
            "change": float(after.per_query[state.metric][row] - before.per_query[state.metric][row]),
            "lab": lab_link_for_query(state, after.arrays.queries[row]),
        }
        for row in rows
    ]


def lab_link_for_query(state: TuneState, query: JudgedQuery) -> str:
    """The Lab's query string for a query under the current configuration."""
    as_of = query.as_of.isoformat() if query.as_of else ""
    fields = {"query": query.text, "by": state.start.label, "user": query.user, "as_of": as_of}
    return urlencode(
        {**{name: value for name, value in fields.items() if value}, **sliders.params_to_query(state.changed)}
    )
