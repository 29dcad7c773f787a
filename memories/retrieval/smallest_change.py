"""The smallest change of one parameter that brings a memory into the answer, found by reranking."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.contracts.why_not import ListRank, ParamChange
from memories.retrieval.plan import list_depth
from memories.retrieval.retrieve import Retrieval, rank_candidates, retrieve
from scoring.params import Choice, Declaration, Number, Params, ParamsError
from scoring.searching import ParamAxis
from scoring.systems.system import Ranking

MAX_TRIALS = 100  # values of a slider; one with fewer steps is tried at each
HALVINGS = 12
CANDIDATE_GROUP = "Candidates"  # the parameters that set the length of the lists


class Trial(NamedTuple):
    """A value to try, its distance from the current value, and the next value towards the current one."""

    fraction: float
    param: str
    value: Any
    nearer: Any


@dataclass(frozen=True, eq=False)
class ChangeSearch:
    """The smallest change that brings a memory in, if there is one, and the parameters tried."""

    change: ParamChange | None
    tried: Sequence[str]


def smallest_change(retrieval: Retrieval, memory: UUID, list_ranks: Mapping[str, ListRank]) -> ChangeSearch:
    """The change of one parameter that brings a memory into the answer, smallest as a fraction of its range."""
    row = candidate_row(retrieval, memory)
    return search_other_candidates(retrieval, memory, list_ranks) if row is None else Reranking(retrieval, row).search()


def answer_rank(retrieval: Retrieval, memory: UUID) -> int | None:
    """A memory's rank in the answer; None if it is not returned."""
    row = candidate_row(retrieval, memory)
    return None if row is None else rank_in_order(retrieval.ranking, row)


def candidate_row(retrieval: Retrieval, memory: UUID) -> int | None:
    """A memory's row among the candidates; None if it is not one."""
    return next((row for row, stored in enumerate(retrieval.candidates.rows) if stored["id"] == memory), None)


def rank_in_order(ranking: Ranking, row: int) -> int | None:
    """A candidate's rank; None if it is not returned."""
    places = np.flatnonzero(ranking.order.rows == row)
    return None if ranking.abstained or not len(places) else int(places[0]) + 1


@dataclass(frozen=True, eq=False)
class Reranking:
    """The candidates of a retrieval, reranked to follow the rank of one of them."""

    retrieval: Retrieval
    row: int

    @cached_property
    def score_params(self) -> Mapping[str, Declaration]:
        """The parameters that only affect the score.

        The weight of a retriever that was not asked needs a new query, and so does MMR without vectors.
        """
        retrieval, system = self.retrieval, self.retrieval.query.config.system
        inactive = system.weights_of(set(system.retrievers) - set(retrieval.active_retrievers))
        if retrieval.signals.vectors is None:
            inactive.update(system.diversified_by)
        declarations = retrieval.params.declarations()
        return {
            name: declared
            for name, declared in declarations.items()
            if declared.scope == "score" and name not in inactive
        }

    def search(self) -> ChangeSearch:
        """Try values, nearest first, until none is left that could be a smaller change."""
        best: ParamChange | None = None
        trials = [trial for name in self.score_params if self.has_effect(name) for trial in self.trials(name)]
        for trial in sorted(trials, key=lambda trial: trial[:2]):
            if best is not None and self.fraction(trial.param, trial.nearer) >= best.fraction:
                continue
            if self.rank_at(trial.param, trial.value):
                change = self.change(trial.param, self.refine(trial))
                best = change if best is None or change.fraction < best.fraction else best
        return ChangeSearch(best, tuple(self.score_params))

    def trials(self, name: str) -> Iterator[Trial]:
        """The values of a parameter, from the current one outwards."""
        declared, before = self.score_params[name], getattr(self.retrieval.params, name)
        if not isinstance(declared, Number):
            options = declared.options if isinstance(declared, Choice) else (False, True)
            yield from (Trial(1.0, name, value, value) for value in options if value != before)
            return
        values = slider_values(name, declared)
        below, above = (
            [value for value in reversed(values) if value < before],
            [value for value in values if value > before],
        )
        for side in (below, above):
            for nearer, value in pairwise((before, *side)):
                yield Trial(self.fraction(name, value), name, value, nearer)

    def fraction(self, name: str, value: Any) -> float:
        """The distance of a value from the current one as a fraction of the range."""
        return range_fraction(self.retrieval.params, name, value)

    def ranking(self, name: str, value: Any) -> Ranking | None:
        """The ranking with a parameter at a value; None if it is invalid or asks other retrievers."""
        retrieval, config, plan = self.retrieval, self.retrieval.query.config, self.retrieval.query_plan.plan
        system = config.system
        try:
            given = {**config.given, **system.params.as_requested({name: value})}
            params = replace(config, given=given).params_under(plan)
        except ParamsError:
            return None
        if system.weighted_retrievers(params) != system.weighted_retrievers(retrieval.params):
            return None
        return rank_candidates(retrieval.query, retrieval.signals, params, plan)

    def rank_at(self, name: str, value: Any) -> int | None:
        """The memory's rank with a parameter at a value."""
        ranking = self.ranking(name, value)
        return None if ranking is None else rank_in_order(ranking, self.row)

    def has_effect(self, name: str) -> bool:
        """Whether a parameter matters here: either end of its range or the middle changes the ranking."""
        axis, now = ParamAxis(name, self.score_params[name]), self.retrieval.ranking
        rankings = (self.ranking(name, axis.value(position)) for position in (0.0, 1.0, 0.5))
        return any(ranking is None or not same_ranking(ranking, now) for ranking in rankings)

    def refine(self, trial: Trial) -> Any:
        """The nearest value that brings the memory in, by bisection between a trial and its neighbour."""
        if trial.nearer == trial.value:
            return trial.value
        axis = ParamAxis(trial.param, self.score_params[trial.param])
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

    def change(self, name: str, value: Any) -> ParamChange:
        """The change to a value that brings the memory in."""
        rank, before = self.rank_at(name, value), getattr(self.retrieval.params, name)
        assert rank is not None
        return ParamChange(name, before, value, self.fraction(name, value), rank)


def same_ranking(left: Ranking, right: Ranking) -> bool:
    """Whether two rankings of the same candidates agree in scores, gates, order and abstention."""
    return (
        left.abstained == right.abstained
        and np.array_equal(left.order.rows, right.order.rows)
        and np.array_equal(left.score.value, right.score.value)
        and left.gates.keys() == right.gates.keys()
        and all(np.array_equal(passed, right.gates[gate]) for gate, passed in left.gates.items())
    )


def slider_values(name: str, declared: Number) -> list[Any]:
    """The values of a slider in ascending order: all, or MAX_TRIALS evenly along its track."""
    steps = MAX_TRIALS if declared.log else min(MAX_TRIALS, round((declared.high - declared.low) / declared.step))
    axis = ParamAxis(name, declared)
    return sorted({axis.value(position) for position in np.linspace(0.0, 1.0, steps + 1).tolist()})


def range_fraction(params: Params, name: str, value: Any) -> float:
    """The distance of a value from the current one as a fraction of the range; 1 if it is not a number."""
    declared = params.declarations()[name]
    if not isinstance(declared, Number):
        return 1.0
    axis = ParamAxis(name, declared)
    return abs(axis.position(value) - axis.position(getattr(params, name)))


def search_other_candidates(retrieval: Retrieval, memory: UUID, list_ranks: Mapping[str, ListRank]) -> ChangeSearch:
    """Try longer lists and inactive retrievers, by new queries, for a memory that no list reaches."""
    params, config = retrieval.params, retrieval.query.config
    list_rank = {retriever: entry.rank for retriever, entry in list_ranks.items() if entry.rank}
    ranks = [rank for retriever, rank in list_rank.items() if retriever in retrieval.active_retrievers]
    weights = config.system.weights_of(list_rank.keys() - set(retrieval.active_retrievers))
    trials = sorted({*list_length_trials(params, retrieval.query.top_k, ranks), *first_weight_trials(params, weights)})
    tried = tuple(dict.fromkeys(trial.param for trial in trials))
    for trial in trials:
        query = replace(retrieval.query, config=replace(config, given={**config.given, trial.param: trial.value}))
        if rank := answer_rank(retrieve(query, retrieval.parsed), memory):
            return ChangeSearch(ParamChange(trial.param, trial.nearer, trial.value, trial.fraction, rank), tried)
    return ChangeSearch(None, tried)


def first_weight_trials(params: Params, weights: Collection[str]) -> Iterator[Trial]:
    """The first step of each weight that is 0, with which its retriever is asked."""
    for name in weights:
        declared = params.declarations()[name]
        assert isinstance(declared, Number)
        yield Trial(range_fraction(params, name, declared.step), name, declared.step, getattr(params, name))


def list_length_trials(params: Params, top_k: int, ranks: Sequence[int]) -> Iterator[Trial]:
    """For each parameter that lengthens the lists, the smallest value with which they reach each rank."""
    for name, declared in params.declarations().items():
        if declared.group != CANDIDATE_GROUP or not isinstance(declared, Number):
            continue
        before, axis = getattr(params, name), ParamAxis(name, declared)
        steps = round((declared.high - declared.low) / declared.step)
        values = (axis.value(position) for position in np.linspace(0.0, 1.0, steps + 1).tolist())
        depths = [(value, list_depth(params.with_values(**{name: value}), top_k)) for value in values if value > before]
        for rank in ranks:
            value = next((value for value, depth in depths if depth >= rank), None)
            if value is not None and rank > list_depth(params, top_k):
                yield Trial(range_fraction(params, name, value), name, value, before)
