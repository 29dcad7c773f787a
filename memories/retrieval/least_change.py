"""The least that would have to change for a memory to come back: one parameter, tried by ranking again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np

from memories.retrieval.retrieve import Retrieval, ranking_of, retrieve
from scoring.params import Choice, Declaration, Number, ParamsError, Switch

GRID = 24  # values of a parameter that are tried between here and each end of its range
HALVINGS = 12
POOL = "pool"


@dataclass(frozen=True)
class Change:
    """One parameter moved: from where, to where, how much of its range that is, and the rank it leads to."""

    param: str
    before: Any
    after: Any
    fraction: float
    rank: int


def rank_of(retrieval: Retrieval, memory: UUID) -> int | None:
    """Where a memory stands in an answer."""
    if retrieval.ranking.abstained:
        return None
    ids = [retrieval.batch.rows[row]["id"] for row in retrieval.ranking.order.rows.tolist()]
    return ids.index(memory) + 1 if memory in ids else None


def least_change(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> Change | None:
    """The single parameter whose smallest move, as a share of its range, brings a memory into the answer."""
    if any(row["id"] == memory for row in retrieval.batch.rows):
        declared = retrieval.query.setting.system.params.declared()
        found = [
            change
            for name, one in declared.items()
            if one.scope == "score" and (change := nearest_value(retrieval, memory, name, one)) is not None
        ]
        return min(found, key=lambda change: (change.fraction, change.param), default=None)
    return larger_pool(retrieval, memory, lists)


def larger_pool(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> Change | None:
    """Whom no list reaches far enough to find, a longer list may; tried by asking again."""
    pool = retrieval.query.setting.system.params.declared().get(POOL)
    ranks = [one["rank"] for one in lists.values() if one["rank"]]
    if not isinstance(pool, Number) or not ranks or min(ranks) > pool.high:
        return None
    before = getattr(retrieval.params, POOL)
    after = int(min(pool.high, pool.step * -(-min(ranks) // pool.step)))
    setting = retrieval.query.setting
    wider = replace(retrieval.query, setting=replace(setting, given={**setting.given, POOL: after}))
    rank = rank_of(retrieve(wider, retrieval.reading), memory)
    return Change(POOL, before, after, (after - before) / (pool.high - pool.low), rank) if rank else None


def nearest_value(retrieval: Retrieval, memory: UUID, name: str, declared: Declaration) -> Change | None:
    """The value of one parameter nearest to the present one that brings a memory in; found by replaying."""
    before = getattr(retrieval.params, name)

    def rank_at(value: Any) -> int | None:
        try:
            params = retrieval.params.but(**{name: value})
        except ParamsError:
            return None
        ranking = ranking_of(retrieval.query, retrieval.signals, params, retrieval.planning.plan)
        return rank_of(replace(retrieval, params=params, ranking=ranking), memory)

    if isinstance(declared, Switch):
        rank = rank_at(not before)
        return Change(name, before, not before, 1.0, rank) if rank else None
    if isinstance(declared, Choice):
        tried = ((option, rank_at(option)) for option in declared.options if option != before)
        return next((Change(name, before, option, 1.0, rank) for option, rank in tried if rank), None)
    assert isinstance(declared, Number)
    width = declared.high - declared.low
    found = []
    for end in (declared.low, declared.high):
        value = toward(before, end, declared, rank_at)
        if value is not None and (rank := rank_at(value)):
            found.append(Change(name, before, value, abs(value - before) / width, rank))
    return min(found, key=lambda change: change.fraction, default=None)


def toward(before: float, end: float, declared: Number, rank_at: Callable[[Any], int | None]) -> float | None:
    """The first value on the way to an end of the range that lets the memory in, to a step of the slider."""
    last = before
    for part in np.linspace(before, end, GRID + 1)[1:]:
        value = on_step(float(part), declared)
        if value != last and rank_at(value):
            break
        last = value
    else:
        return None
    outside, inside = last, value
    for _ in range(HALVINGS):
        middle = on_step((outside + inside) / 2, declared)
        if middle in (outside, inside):
            break
        if rank_at(middle):
            inside = middle
        else:
            outside = middle
    return inside


def on_step(value: float, declared: Number) -> float:
    """The nearest value that a slider can stand on."""
    stepped = declared.low + round((value - declared.low) / declared.step) * declared.step
    bounded = min(max(round(stepped, 10), declared.low), declared.high)
    return int(bounded) if declared.whole else float(bounded)
