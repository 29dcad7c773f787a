"""The least that would have to change for a memory to come back: one parameter, tried by ranking again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.retrieval.plan import list_depth
from memories.retrieval.retrieve import Retrieval, rank_candidates, retrieve
from scoring.params import Choice, Declaration, Number, Params, ParamsError
from scoring.searching import ParamAxis
from scoring.systems.system import Ranking

MAX_TRIALS = 100  # of a slider that are tried; one with no more steps is tried on each of them
HALVINGS = 12
CANDIDATE_GROUP = "Candidates"  # the group of parameters that say how long the lists are


@dataclass(frozen=True)
class SmallestChange:
    """One parameter moved: from where, to where, how much of its range that is, and the rank it leads to."""

    param: str
    before: Any
    after: Any
    fraction: float
    rank: int


class Trial(NamedTuple):
    """A value to be tried, how far it lies from the present one, and the value next to it on the way there."""

    fraction: float
    param: str
    value: Any
    nearer: Any


@dataclass(frozen=True, eq=False)
class ChangeSearch:
    """The least change that brings a memory in, if one does, and the parameters that were tried."""

    change: SmallestChange | None
    tried: Sequence[str]


def answer_rank(retrieval: Retrieval, memory: UUID) -> int | None:
    """Where a memory stands in an answer."""
    row = candidate_row(retrieval, memory)
    return None if row is None else rank_in_order(retrieval.ranking, row)


def candidate_row(retrieval: Retrieval, memory: UUID) -> int | None:
    """Where a memory stands among the candidates."""
    return next((row for row, one in enumerate(retrieval.candidates.rows) if one["id"] == memory), None)


def rank_in_order(ranking: Ranking, row: int) -> int | None:
    """Where a candidate stands in a ranking, if it comes back."""
    places = np.flatnonzero(ranking.order.rows == row)
    return None if ranking.abstained or not len(places) else int(places[0]) + 1


def smallest_change(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> ChangeSearch:
    """The single parameter whose smallest move, as a share of its range, brings a memory into the answer."""
    row = candidate_row(retrieval, memory)
    return search_longer_lists(retrieval, memory, lists) if row is None else Replays(retrieval, row).search()


@dataclass(frozen=True, eq=False)
class Replays:
    """The candidates of a retrieval ranked again and again, with a look at where one of them stands."""

    retrieval: Retrieval
    row: int

    @cached_property
    def declared(self) -> Mapping[str, Declaration]:
        """The parameters that replay."""
        every = self.retrieval.params.declarations().items()
        return {name: one for name, one in every if one.scope == "score"}

    def search(self) -> ChangeSearch:
        """Try value after value, those that lie nearest first, until none is left that could lie nearer."""
        best: SmallestChange | None = None
        tries = [one for name in self.declared if self.has_effect(name) for one in self.trials(name)]
        for one in sorted(tries, key=lambda one: one[:2]):
            if best is not None and self.fraction(one.param, one.nearer) >= best.fraction:
                continue
            if self.rank_at(one.param, one.value):
                change = self.change(one.param, self.refine(one))
                best = change if best is None or change.fraction < best.fraction else best
        return ChangeSearch(best, tuple(self.declared))

    def trials(self, name: str) -> Iterator[Trial]:
        """The values of a parameter from the present one outward."""
        declared, before = self.declared[name], getattr(self.retrieval.params, name)
        if not isinstance(declared, Number):
            others = declared.options if isinstance(declared, Choice) else (False, True)
            yield from (Trial(1.0, name, value, value) for value in others if value != before)
            return
        values = slider_values(name, declared)
        for side in ([one for one in reversed(values) if one < before], [one for one in values if one > before]):
            for nearer, value in pairwise((before, *side)):
                yield Trial(self.fraction(name, value), name, value, nearer)

    def fraction(self, name: str, value: Any) -> float:
        """How much of a parameter's range lies between a value and the present one."""
        return range_fraction(self.retrieval.params, name, value)

    def ranking(self, name: str, value: Any) -> Ranking | None:
        """The ranking with a parameter at a value; none where a rule forbids it."""
        try:
            params = self.retrieval.params.with_values(**{name: value})
        except ParamsError:
            return None
        return rank_candidates(self.retrieval.query, self.retrieval.signals, params, self.retrieval.query_plan.plan)

    def rank_at(self, name: str, value: Any) -> int | None:
        """Where the memory comes back with a parameter at a value."""
        ranking = self.ranking(name, value)
        return None if ranking is None else rank_in_order(ranking, self.row)

    def has_effect(self, name: str) -> bool:
        """Whether a parameter does anything here: an end of its range or the middle ranks otherwise."""
        axis, now = ParamAxis(name, self.declared[name]), self.retrieval.ranking
        others = (self.ranking(name, axis.value(place)) for place in (0.0, 1.0, 0.5))
        return any(one is None or not same_ranking(one, now) for one in others)

    def refine(self, trial: Trial) -> Any:
        """The first value that lets the memory in, between one that does and the one tried before it."""
        if trial.nearer == trial.value:
            return trial.value
        axis = ParamAxis(trial.param, self.declared[trial.param])
        outside, inside = trial.nearer, trial.value
        for _ in range(HALVINGS):
            middle = axis.value((axis.position(outside) + axis.position(inside)) / 2)
            if middle in (outside, inside) or not min(outside, inside) < middle < max(outside, inside):
                break
            if self.rank_at(trial.param, middle):
                inside = middle
            else:
                outside = middle
        return inside

    def change(self, name: str, value: Any) -> SmallestChange:
        """A value that lets the memory in, told."""
        rank, before = self.rank_at(name, value), getattr(self.retrieval.params, name)
        assert rank is not None
        return SmallestChange(name, before, value, self.fraction(name, value), rank)


def same_ranking(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings of the same candidates are the same in all that decides who comes back."""
    return (
        one.abstained == other.abstained
        and np.array_equal(one.order.rows, other.order.rows)
        and np.array_equal(one.score.value, other.score.value)
        and one.gates.keys() == other.gates.keys()
        and all(np.array_equal(kept, other.gates[gate]) for gate, kept in one.gates.items())
    )


def slider_values(name: str, declared: Number) -> list[Any]:
    """Values that a slider can stand on, from low to high: all of them, or so many evenly along its track."""
    steps = MAX_TRIALS if declared.log else min(MAX_TRIALS, round((declared.high - declared.low) / declared.step))
    axis = ParamAxis(name, declared)
    return sorted({axis.value(place) for place in np.linspace(0.0, 1.0, steps + 1).tolist()})


def range_fraction(params: Params, name: str, value: Any) -> float:
    """How much of a parameter's range lies between a value and the one that a set has; all, where it has no numbers."""
    declared = params.declarations()[name]
    if not isinstance(declared, Number):
        return 1.0
    axis = ParamAxis(name, declared)
    return abs(axis.position(value) - axis.position(getattr(params, name)))


def search_longer_lists(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> ChangeSearch:
    """Whom no list reaches far enough to find, longer lists may; tried by asking again."""
    params, setting = retrieval.params, retrieval.query.config
    tries = sorted(
        set(lengthened_params(params, retrieval.query.top_k, [one["rank"] for one in lists.values() if one["rank"]]))
    )
    tried = tuple(dict.fromkeys(one.param for one in tries))
    for one in tries:
        wider = replace(retrieval.query, config=replace(setting, given={**setting.given, one.param: one.value}))
        if rank := answer_rank(retrieve(wider, retrieval.parsed), memory):
            return ChangeSearch(SmallestChange(one.param, one.nearer, one.value, one.fraction, rank), tried)
    return ChangeSearch(None, tried)


def lengthened_params(params: Params, top_k: int, ranks: Sequence[int]) -> Iterator[Trial]:
    """For each parameter that lengthens the lists, the least value that makes them reach each of some ranks."""
    for name, declared in params.declarations().items():
        if declared.group != CANDIDATE_GROUP or not isinstance(declared, Number):
            continue
        before, axis = getattr(params, name), ParamAxis(name, declared)
        steps = round((declared.high - declared.low) / declared.step)
        values = (axis.value(place) for place in np.linspace(0.0, 1.0, steps + 1).tolist())
        reached = [
            (value, list_depth(params.with_values(**{name: value}), top_k)) for value in values if value > before
        ]
        for rank in ranks:
            value = next((value for value, pool in reached if pool >= rank), None)
            if value is not None and rank > list_depth(params, top_k):
                yield Trial(range_fraction(params, name, value), name, value, before)
