"""What the Tune page shows of a setting: metrics with their intervals, categories, and who won and lost."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from memories.models import JudgedQuery
from memories.pages import sliders
from memories.pages.tune.state import State
from memories.tuning.evaluating import INVENTED, LOST, NAMES, Compared, Measured, compared
from memories.tuning.evaluations import categories as by_size
from scoring.resampling import Interval, bootstrap

MOST = 6  # queries won and lost that are named
BLIND = 0.95  # of what comes back: with more that nobody has judged, the metric says little
ROOM = 0.01  # beside the widest interval of a strip


def shown(state: State, before: Measured, after: Measured) -> dict[str, Any]:
    """All of it; the difference is against where it started."""
    was, now = (one.told(state.part) for one in (before, after))
    moved = compared(before, after, state.metric, state.part)
    first = (state.metric, *(name for name in ("ndcg@10", "recall@10", "mrr") if name != state.metric))[:3]
    return {
        "metrics": [metric(name, was[name], now[name]) for name in first],
        "queries": int(after.chosen(state.metric, state.part).sum()),
        "abstention": abstention(state, before, after, now),
        "unjudged": after.unjudged(state.part),
        "blind": after.unjudged(state.part) >= BLIND,
        "moved": moved,
        "sure": moved.significant,
        "categories": categories(state, before, after),
        **winners(state, before, after, moved),
    }


def metric(name: str, was: Interval, now: Interval) -> dict[str, Any]:
    """One metric with both intervals on a strip of their own, in percent of its width."""
    low, high = min(was.low, now.low) - ROOM, max(was.high, now.high) + ROOM
    width = 0.72 * 100 / (high - low)  # the rest is for the names behind

    def strip(one: Interval) -> dict[str, float]:
        return {"low": (one.low - low) * width, "mean": (one.mean - low) * width, "high": (one.high - low) * width}

    change = now.mean - was.mean
    return {"name": NAMES[name], "now": now, "was": was, "change": change, "is": strip(now), "before": strip(was)}


def abstention(state: State, before: Measured, after: Measured, told: Mapping[str, Interval]) -> dict[str, Any]:
    """The two errors: an answer where there is none, and none where there is one."""
    counted = {}
    for name, error in (("invented", INVENTED), ("lost", LOST)):
        chosen = after.chosen(error, state.part)
        now, was = (int(one.each[error][chosen].sum()) for one in (after, before))
        counted[name] = {"now": now, "change": now - was, "of": int(chosen.sum()), "share": told.get(error)}
    return counted


def categories(state: State, before: Measured, after: Measured) -> list[dict[str, Any]]:
    """The metric by category, the largest first."""
    rows = []
    for name in by_size(after, state.part):
        chosen = after.chosen(state.metric, state.part, name)
        if chosen.any():
            was, now = float(before.each[state.metric][chosen].mean()), after.each[state.metric][chosen]
            [told] = bootstrap(now[:, None])  # this metric alone: a slider waits for it
            change = told.mean - was
            rows.append({"name": name, "queries": len(now), "was": was, "now": told, "change": change})
    return rows


def winners(state: State, before: Measured, after: Measured, moved: Compared) -> dict[str, Any]:
    """How many queries won and lost, and those that did most, each with a link into the Lab."""
    order = np.argsort(-moved.moves, kind="stable")
    won = [row for row in order[:MOST].tolist() if moved.moves[row] > 0]
    lost = [row for row in order[::-1][:MOST].tolist() if moved.moves[row] < 0]
    same = int(after.chosen(state.metric, state.part).sum()) - moved.won - moved.lost
    whole = max(moved.won + same + moved.lost, 1)
    return {
        "same": same,
        "shares": {"won": 100 * moved.won / whole, "same": 100 * same / whole, "lost": 100 * moved.lost / whole},
        "lost_at": 100 * (moved.won + same) / whole,
        "won": told(state, before, after, won),
        "lost": told(state, before, after, lost),
    }


def told(state: State, before: Measured, after: Measured, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Queries with what each had before and has now."""
    return [
        {
            "text": after.arrays.queries[row].text,
            "was": float(before.each[state.metric][row]),
            "now": float(after.each[state.metric][row]),
            "change": float(after.each[state.metric][row] - before.each[state.metric][row]),
            "lab": lab(state, after.arrays.queries[row]),
        }
        for row in rows
    ]


def lab(state: State, query: JudgedQuery) -> str:
    """The Lab's address of a query under the setting as it stands."""
    then = query.as_of.isoformat() if query.as_of else ""
    asked = {"query": query.text, "by": state.start.by, "user": query.user, "as_of": then}
    return urlencode({**{name: value for name, value in asked.items() if value}, **sliders.address(state.changed)})
