"""The least that would have to change for a memory to come back: one parameter, tried by ranking again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.retrieval.planning import pool_of
from memories.retrieval.retrieve import Retrieval, ranking_of, retrieve
from scoring.params import Choice, Declaration, Number, Params, ParamsError
from scoring.searching import Axis
from scoring.systems.system import Ranking

PLACES = 100  # of a slider that are tried; one with no more steps is tried on each of them
HALVINGS = 12
LISTS = "Candidates"  # the group of parameters that say how long the lists are


@dataclass(frozen=True)
class Change:
    """One parameter moved: from where, to where, how much of its range that is, and the rank it leads to."""

    param: str
    before: Any
    after: Any
    fraction: float
    rank: int


class Try(NamedTuple):
    """A value to be tried, how far it lies from the present one, and the value next to it on the way there."""

    fraction: float
    param: str
    value: Any
    nearer: Any


@dataclass(frozen=True, eq=False)
class Sought:
    """The least change that brings a memory in, if one does, and the parameters that were tried."""

    change: Change | None
    tried: Sequence[str]


def rank_of(retrieval: Retrieval, memory: UUID) -> int | None:
    """Where a memory stands in an answer."""
    row = row_of(retrieval, memory)
    return None if row is None else place_of(retrieval.ranking, row)


def row_of(retrieval: Retrieval, memory: UUID) -> int | None:
    """Where a memory stands among the candidates."""
    return next((row for row, one in enumerate(retrieval.batch.rows) if one["id"] == memory), None)


def place_of(ranking: Ranking, row: int) -> int | None:
    """Where a candidate stands in a ranking, if it comes back."""
    places = np.flatnonzero(ranking.order.rows == row)
    return None if ranking.abstained or not len(places) else int(places[0]) + 1


def least_change(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> Sought:
    """The single parameter whose smallest move, as a share of its range, brings a memory into the answer."""
    row = row_of(retrieval, memory)
    return longer_lists(retrieval, memory, lists) if row is None else Replays(retrieval, row).sought()


@dataclass(frozen=True, eq=False)
class Replays:
    """The candidates of a retrieval ranked again and again, with a look at where one of them stands."""

    retrieval: Retrieval
    row: int

    @cached_property
    def declared(self) -> Mapping[str, Declaration]:
        """The parameters that replay."""
        every = self.retrieval.params.declared().items()
        return {name: one for name, one in every if one.scope == "score"}

    def sought(self) -> Sought:
        """Try value after value, those that lie nearest first, until none is left that could lie nearer."""
        best: Change | None = None
        tries = [one for name in self.declared if self.moves(name) for one in self.tries(name)]
        for one in sorted(tries, key=lambda one: one[:2]):
            if best is not None and self.fraction(one.param, one.nearer) >= best.fraction:
                continue
            if self.rank_at(one.param, one.value):
                change = self.change(one.param, self.first(one))
                best = change if best is None or change.fraction < best.fraction else best
        return Sought(best, tuple(self.declared))

    def tries(self, name: str) -> Iterator[Try]:
        """The values of a parameter from the present one outward."""
        declared, before = self.declared[name], getattr(self.retrieval.params, name)
        if not isinstance(declared, Number):
            others = declared.options if isinstance(declared, Choice) else (False, True)
            yield from (Try(1.0, name, value, value) for value in others if value != before)
            return
        values = on_track(name, declared)
        for side in ([one for one in reversed(values) if one < before], [one for one in values if one > before]):
            for nearer, value in pairwise((before, *side)):
                yield Try(self.fraction(name, value), name, value, nearer)

    def fraction(self, name: str, value: Any) -> float:
        """How much of a parameter's range lies between a value and the present one."""
        return part_of_range(self.retrieval.params, name, value)

    def ranking(self, name: str, value: Any) -> Ranking | None:
        """The ranking with a parameter at a value; none where a rule forbids it."""
        try:
            params = self.retrieval.params.but(**{name: value})
        except ParamsError:
            return None
        return ranking_of(self.retrieval.query, self.retrieval.signals, params, self.retrieval.planning.plan)

    def rank_at(self, name: str, value: Any) -> int | None:
        """Where the memory comes back with a parameter at a value."""
        ranking = self.ranking(name, value)
        return None if ranking is None else place_of(ranking, self.row)

    def moves(self, name: str) -> bool:
        """Whether a parameter does anything here: an end of its range or the middle ranks otherwise."""
        axis, now = Axis(name, self.declared[name]), self.retrieval.ranking
        others = (self.ranking(name, axis.value(place)) for place in (0.0, 1.0, 0.5))
        return any(one is None or not same(one, now) for one in others)

    def first(self, found: Try) -> Any:
        """The first value that lets the memory in, between one that does and the one tried before it."""
        if found.nearer == found.value:
            return found.value
        axis = Axis(found.param, self.declared[found.param])
        outside, inside = found.nearer, found.value
        for _ in range(HALVINGS):
            middle = axis.value((axis.place(outside) + axis.place(inside)) / 2)
            if middle in (outside, inside) or not min(outside, inside) < middle < max(outside, inside):
                break
            if self.rank_at(found.param, middle):
                inside = middle
            else:
                outside = middle
        return inside

    def change(self, name: str, value: Any) -> Change:
        """A value that lets the memory in, told."""
        rank, before = self.rank_at(name, value), getattr(self.retrieval.params, name)
        assert rank is not None
        return Change(name, before, value, self.fraction(name, value), rank)


def same(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings of the same candidates are the same in all that decides who comes back."""
    return (
        one.abstained == other.abstained
        and np.array_equal(one.order.rows, other.order.rows)
        and np.array_equal(one.score.value, other.score.value)
        and one.gates.keys() == other.gates.keys()
        and all(np.array_equal(kept, other.gates[gate]) for gate, kept in one.gates.items())
    )


def on_track(name: str, declared: Number) -> list[Any]:
    """Values that a slider can stand on, from low to high: all of them, or so many evenly along its track."""
    steps = PLACES if declared.log else min(PLACES, round((declared.high - declared.low) / declared.step))
    axis = Axis(name, declared)
    return sorted({axis.value(place) for place in np.linspace(0.0, 1.0, steps + 1).tolist()})


def part_of_range(params: Params, name: str, value: Any) -> float:
    """How much of a parameter's range lies between a value and the one that a set has; all, where it has no numbers."""
    declared = params.declared()[name]
    if not isinstance(declared, Number):
        return 1.0
    axis = Axis(name, declared)
    return abs(axis.place(value) - axis.place(getattr(params, name)))


def longer_lists(retrieval: Retrieval, memory: UUID, lists: Mapping[str, Mapping[str, Any]]) -> Sought:
    """Whom no list reaches far enough to find, longer lists may; tried by asking again."""
    params, setting = retrieval.params, retrieval.query.setting
    tries = sorted(set(longer(params, retrieval.query.top_k, [one["rank"] for one in lists.values() if one["rank"]])))
    tried = tuple(dict.fromkeys(one.param for one in tries))
    for one in tries:
        wider = replace(retrieval.query, setting=replace(setting, given={**setting.given, one.param: one.value}))
        if rank := rank_of(retrieve(wider, retrieval.reading), memory):
            return Sought(Change(one.param, one.nearer, one.value, one.fraction, rank), tried)
    return Sought(None, tried)


def longer(params: Params, top_k: int, ranks: Sequence[int]) -> Iterator[Try]:
    """For each parameter that lengthens the lists, the least value that makes them reach each of some ranks."""
    for name, declared in params.declared().items():
        if declared.group != LISTS or not isinstance(declared, Number):
            continue
        before, axis = getattr(params, name), Axis(name, declared)
        steps = round((declared.high - declared.low) / declared.step)
        values = (axis.value(place) for place in np.linspace(0.0, 1.0, steps + 1).tolist())
        reached = [(value, pool_of(params.but(**{name: value}), top_k)) for value in values if value > before]
        for rank in ranks:
            value = next((value for value, pool in reached if pool >= rank), None)
            if value is not None and rank > pool_of(params, top_k):
                yield Try(part_of_range(params, name, value), name, value, before)
