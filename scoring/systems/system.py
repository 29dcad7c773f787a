"""What a scoring system is, and how one batch of candidates is ranked by it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scoring.diversity import Pick, Words, mmr
from scoring.params import Params
from scoring.signals import Signals
from scoring.term import Array, Codes, Mask, Term

AT_ONCE = 32  # queries among whose candidates is picked together: their vectors stay near the processor


class Order(NamedTuple):
    """Candidates in the order they come back, and what decided it besides the score."""

    rows: Codes
    picks: tuple[Pick, ...] = ()
    tiebreak_applied: bool = False


def selected(
    signals: Signals, rows: Codes, relevance: Array, top_k: int, tags: Words | None = None, **how: float
) -> Order:
    """Rows that come batch after batch, of each the most relevant that do not repeat each other (MMR).

    Why each was chosen is told of a single batch alone.
    """
    chosen = np.full((len(signals.batches), min(top_k, int(signals.batches.counts(rows).max(initial=0)))), -1)
    picks: tuple[Pick, ...] = ()
    for batches, lines in signals.batches.of_one_size(rows):
        for start in range(0, len(batches), AT_ONCE):
            part, mine = batches[start : start + AT_ONCE], lines[start : start + AT_ONCE]
            marked = None if tags is None else tags[mine]
            found = mmr(relevance[mine], signals.vectors_of(mine), top_k=top_k, tags=marked, **how)
            taken = np.take_along_axis(mine, found.rows, axis=1)
            chosen[part, : taken.shape[1]] = np.where(found.rows >= 0, taken, -1)
            if len(signals.batches) == 1:
                picks = tuple(named(one, mine[0]) for one in found.picks(0))
    return Order(chosen[chosen >= 0], picks)


def named(pick: Pick, rows: Codes) -> Pick:
    """A choice among some rows, by the rows themselves."""
    nearest = None if pick.nearest is None else int(rows[pick.nearest])
    return pick._replace(row=int(rows[pick.row]), nearest=nearest)


def by_score(score: Term, signals: Signals, kept: Codes, most: int | None = None) -> Codes:
    """The kept candidates of each batch by falling score, at most so many; ties by id."""
    return signals.batches.best(score.value, signals.by_id, kept, most)


def found_by(signals: Signals, routes: Sequence[str], row: int) -> list[str]:
    """The routes that found a candidate, the one that ranks it highest first."""
    ranks = {route: float(signals.rank(route)[row]) for route in routes}
    return sorted((route for route in routes if np.isfinite(ranks[route])), key=lambda route: ranks[route])


def plain(score: Term, signals: Signals, params: Any, kept: Codes, top_k: int, diversify: bool) -> Order:
    """Order by score alone."""
    return Order(by_score(score, signals, kept, top_k))


def valid(signals: Signals, params: Any) -> dict[str, Mask]:
    """Gates every system has: a fact that has expired, or does not hold yet, does not come back."""
    return {"expired": signals.hours_left > 0, "not_yet_valid": signals.valid_hours >= 0}


@dataclass(frozen=True)
class System:
    """One published way of scoring: its parameters, its score, its gates and its order."""

    name: str
    seed: str
    summary: str
    params: type[Params]
    routes: tuple[str, ...]
    score: Callable[[Signals, Any], Term]
    gates: Callable[[Signals, Any], dict[str, Mask]] = valid
    order: Callable[[Term, Signals, Any, Codes, int, bool], Order] = plain
    presets: Mapping[str, Mapping[str, float | str | bool]] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)  # what a result shows, and the term that holds it
    shares: Mapping[str, str] = field(default_factory=dict)  # what each list brings to a score, by its term
    # What it reads of candidates that few systems do: tags, edges, clusters, returned, mentions, vectors.
    reads: tuple[str, ...] = ()
    conversations: bool = False  # whether it ranks sessions and their turns as well as statements
    # How likely the best of each batch is an answer, by those that pass the gates, if any do.
    chance: Callable[[Signals, Any, Mask], Array] = lambda signals, params, passed: np.ones(len(signals.batches))
    # Of each batch: those of which it differs are not scored together.
    alike: Callable[[Signals], Mask] = lambda signals: np.zeros(len(signals.batches), bool)
    details: Callable[[Signals, Any, int], dict[str, Any]] = lambda signals, params, row: {}


class Ranking(NamedTuple):
    """A batch after scoring: every score, every gate, who comes back in which order, and whether that is an answer."""

    score: Term
    gates: dict[str, Mask]
    order: Order
    chance: float
    abstained: bool


def rank(system: System, signals: Signals, params: Params, *, top_k: int, diversify: bool = False) -> Ranking:
    """Score the candidates, hold back those a gate stops, put the rest in order."""
    score, gates, passed, order = ordered(system, signals, params, top_k, diversify)
    chance = float(system.chance(signals, params, passed)[0]) if len(order.rows) else 0.0
    return Ranking(score, gates, order, chance, abstained=chance < least_chance(params))


def rank_each(
    system: System, signals: Signals, params: Params, *, top_k: int, diversify: bool = False
) -> tuple[Codes, Mask]:
    """Rank several batches at once, each as `rank` would: who comes back, batch after batch, and which abstain."""
    _, _, passed, order = ordered(system, signals, params, top_k, diversify)
    answered = np.bincount(signals.batches.of_each[order.rows], minlength=len(signals.batches)) > 0
    return order.rows, np.where(answered, system.chance(signals, params, passed), 0.0) < least_chance(params)


def ordered(
    system: System, signals: Signals, params: Params, top_k: int, diversify: bool
) -> tuple[Term, dict[str, Mask], Mask, Order]:
    """The score, the gates, who passes them, and those in order."""
    score = system.score(signals, params)
    gates = system.gates(signals, params)
    passed = np.logical_and.reduce([np.ones(len(signals), bool), *gates.values()])
    return score, gates, passed, system.order(score, signals, params, np.flatnonzero(passed), top_k, diversify)


def least_chance(params: Params) -> float:
    """The chance below which an answer is not told."""
    return float(getattr(params, "abstain_below", 0.0))
