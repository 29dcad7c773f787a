"""The Tune page's report on a configuration: metrics with intervals, categories, queries won and lost."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from memories.contracts.number_format import format_number, format_p_value, format_percent, format_signed
from memories.models import JudgedQuery
from memories.pages import sliders
from memories.pages.tune.forms import TuneState
from memories.tuning.evaluation_records import categories_in_split
from memories.tuning.measurement import (
    FALSE_ABSTENTION,
    FALSE_ANSWER,
    METRIC_NAMES,
    Measurement,
    PairedComparison,
    compare_measurements,
)
from memories.tuning.traced_sets import Staleness
from scoring.resampling import Interval, bootstrap

MAX_QUERIES_LISTED = 6  # of those won, and of those lost
UNJUDGED_WARNING_FROM = 0.95  # share of unjudged results from which the metric means little
STRIP_PADDING = 0.01  # on both sides of the wider interval
MIN_LABELLED_PERCENT = 8  # a narrower segment of the won/lost bar has no room for its count


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
        "effect_sentence": effect_sentence(state, comparison, int(after.query_mask(state.metric, state.split).sum())),
        "categories": category_rows(state, before, after),
        **won_and_lost(state, before, after, comparison),
    }


def metric_strip(name: str, before: Interval, after: Interval) -> dict[str, Any]:
    """One metric with both intervals, positioned on a strip in percent of its width."""
    low, high = min(before.low, after.low) - STRIP_PADDING, max(before.high, after.high) + STRIP_PADDING
    width = 0.72 * 100 / (high - low)  # the rest is room for the labels

    def positions(interval: Interval) -> dict[str, float]:
        return {name: (getattr(interval, name) - low) * width for name in ("low", "mean", "high")}

    return {
        "name": METRIC_NAMES[name],
        "label": f"now {format_number(after.mean, 3)}, 95 % interval {format_bounds(after)};"
        f" at the start {format_number(before.mean, 3)}, {format_bounds(before)}",
        "now": after,
        "start": before,
        "change": after.mean - before.mean,
        "now_at": positions(after),
        "start_at": positions(before),
    }


def format_bounds(interval: Interval) -> str:
    """The bounds of an interval."""
    return f"{format_number(interval.low, 3)} to {format_number(interval.high, 3)}"


def effect_sentence(state: TuneState, comparison: PairedComparison, queries: int) -> str:
    """The effect of the changed parameters and whether it is significant."""
    if not state.changed:
        return "At the start. Move a slider, and every query is reranked."
    changed = f"{len(state.changed)} changed from {state.start.profile or state.start.system.name}"
    if not comparison.difference:
        return f"{changed}: nothing changes."
    verdict = "significant" if comparison.significant else "not significant"
    return (
        f"{changed}: {format_signed(comparison.difference, 3)} over {queries} queries,"
        f" {verdict} (p {format_p_value(comparison.p_value)}, paired randomisation)."
    )


def staleness_sentences(age: Staleness, start_untraced: bool) -> list[str]:
    """What limits the metrics: retrievers that timed out, an untraced start, changes since the queries were run."""
    sentences = []
    if age.timed_out:
        was = "was" if age.timed_out == 1 else "were"
        sentences.append(f"{age.timed_out} of the queries {was} answered without a retriever that timed out.")
    if start_untraced:
        sentences.append("The start was never run with its own candidates: its numbers are for its ranking of these.")
    if not age.current:
        changes = []
        if age.writes:
            changes.append(f"memories were written {age.writes} time{'' if age.writes == 1 else 's'}")
        if age.queries:
            added, are = ("query was", "is") if age.queries == 1 else ("queries were", "are")
            changes.append(f"{age.queries} {added} added to the set and {are} not measured here")
        sentences.append(f"Since the queries were run, {' and '.join(changes)}.")
    return sentences


def abstention_errors(
    state: TuneState, before: Measurement, after: Measurement, intervals: Mapping[str, Interval]
) -> dict[str, Any]:
    """Counts of false answers and false abstentions, with their changes and intervals."""

    def count(error: str) -> tuple[int, int, str]:
        mask = after.query_mask(error, state.split)
        now, start = (int(measurement.per_query[error][mask].sum()) for measurement in (after, before))
        return now, int(mask.sum()), f", {format_signed(now - start)}" if now != start else ""

    answers, unanswerable, answers_change = count(FALSE_ANSWER)
    abstentions, answerable, abstentions_change = count(FALSE_ABSTENTION)
    shares = {
        error: f"{format_percent(interval.low)} to {format_percent(interval.high)}"
        for error, interval in intervals.items()
        if error in (FALSE_ANSWER, FALSE_ABSTENTION)
    }
    sentences = [f"That is {shares[FALSE_ANSWER]}."] if FALSE_ANSWER in shares else []
    total = f"{abstentions} false abstentions in {answerable} answerable queries{abstentions_change}"
    sentences.append(", ".join(filter(None, (total, shares.get(FALSE_ABSTENTION)))) + ".")
    return {
        "false_answers": answers,
        "detail": f"false answers to {unanswerable} unanswerable queries{answers_change}",
        "sentence": " ".join(sentences),
    }


def category_rows(state: TuneState, before: Measurement, after: Measurement) -> list[dict[str, Any]]:
    """The metric by category, largest category first."""
    rows = []
    for name in categories_in_split(after, state.split):
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
    return {
        "same": same,
        "won_lost_bar": won_lost_bar(comparison.won, same, comparison.lost),
        "query_changes": {
            title: query_change_rows(state, before, after, rows)
            for title, rows in (("Won most", won), ("Lost most", lost))
            if rows
        },
    }


def won_lost_bar(won: int, same: int, lost: int) -> list[dict[str, Any]]:
    """The bar of queries won, unchanged and lost, in percent of its width."""
    unit = 100 / max(won + same + lost, 1)
    labels = (f"▲ {won}", f"{same} same", f"▼ {lost}")
    segments, at = [], 0.0
    for colour, count, label in zip(("good", "sunken", "bad"), (won, same, lost), labels, strict=True):
        width = unit * count
        labelled = colour == "sunken" or width > MIN_LABELLED_PERCENT
        segments.append({"colour": colour, "x": at, "width": width, "label": label if labelled else ""})
        at += width
    return segments


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
