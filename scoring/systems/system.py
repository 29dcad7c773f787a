"""What a scoring system is, and how one batch of candidates is ranked by it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from scoring.diversity import Pick
from scoring.params import Params
from scoring.signals import Codes, Signals
from scoring.term import Mask, Term


class Order(NamedTuple):
    """Candidates in the order they come back, and what decided it besides the score."""

    rows: Codes
    picks: tuple[Pick, ...] = ()
    tiebreak_applied: bool = False

    @classmethod
    def of_picks(cls, rows: Codes, picks: Sequence[Pick]) -> Self:
        """The order of a greedy selection among these rows."""
        whole = (
            pick._replace(row=int(rows[pick.row]), nearest=None if pick.nearest is None else int(rows[pick.nearest]))
            for pick in picks
        )
        return cls(rows[[pick.row for pick in picks]], tuple(whole))


def by_score(score: Term, signals: Signals, kept: Codes) -> Codes:
    """The kept candidates by falling score; ties by id."""
    return kept[np.lexsort((signals.by_id[kept], -score.value[kept]))]


def found_by(signals: Signals, routes: Sequence[str], row: int) -> list[str]:
    """The routes that found a candidate, the one that ranks it highest first."""
    ranks = {route: float(signals.rank(route)[row]) for route in routes}
    return sorted((route for route in routes if np.isfinite(ranks[route])), key=lambda route: ranks[route])


def plain(score: Term, signals: Signals, params: Any, kept: Codes, top_k: int, diversify: bool) -> Order:
    """Order by score alone."""
    return Order(by_score(score, signals, kept)[:top_k])


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
    # What it reads of candidates that few systems do: tags, edges, clusters, returned, mentions.
    reads: tuple[str, ...] = ()
    conversations: bool = False  # whether it ranks sessions and their turns as well as statements
    chance: Callable[[Term, Signals, Any, Codes], float] = lambda score, signals, params, rows: float(len(rows) > 0)
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
    score = system.score(signals, params)
    gates = system.gates(signals, params)
    kept = np.flatnonzero(np.logical_and.reduce([np.ones(len(signals), bool), *gates.values()]))
    order = system.order(score, signals, params, kept, top_k, diversify)
    chance = system.chance(score, signals, params, order.rows)
    return Ranking(score, gates, order, chance, abstained=chance < getattr(params, "abstain_below", 0.0))
