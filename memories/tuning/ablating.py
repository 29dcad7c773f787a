"""What each retriever is good for: the metric without it, what only it found, and how much its list is another's."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memories.retrieval.query import Setting
from memories.tuning.arrays import Arrays, Stack
from memories.tuning.evaluating import BOUND, Measured, corrected, measured
from memories.tuning.objective import Gain, Objective, gain
from scoring.signals import Signals
from scoring.stacking import kept
from scoring.systems.recall import RERANK
from scoring.systems.system import System
from scoring.term import Array, Codes, Mask

TOP = 10  # of a list that is held against another's


@dataclass(frozen=True)
class Ablated:
    """One retriever of a system, and the system without it."""

    route: str
    queries: int  # in which it found anything
    unique: int  # relevant candidates that nobody else found
    returned: int  # of those, in an answer
    mean: float  # of the metric without it
    gain: Gain  # of leaving it out
    corrected: float = 1.0  # the gain's chance, raised for how many retrievers are left out

    @property
    def proven(self) -> bool:
        """Whether leaving it out makes a difference, and hardly by chance."""
        return self.corrected < BOUND


@dataclass(frozen=True)
class Ablation:
    """A system on a set, and what its retrievers are good for."""

    metric: str
    mean: float
    queries: int
    relevant: int  # that anybody found
    routes: Sequence[Ablated]
    overlap: Sequence[Sequence[float | None]]  # of two routes' first ten; none where they never both found anything


def ablation(whole: Arrays, setting: Setting, objective: Objective) -> Ablation:
    """Leave one retriever out after another."""
    full, routes = measured(whole, setting), whole.system.routes
    return Ablation(
        metric=objective.metric,
        mean=full.mean(objective.metric),
        queries=int(whole.answerable.sum()),
        relevant=sum(int((stack.grades > 0).sum()) for stack in whole.stacks),
        routes=together([ablated(full, route, objective) for route in routes]),
        overlap=overlap(whole),
    )


def together(routes: Sequence[Ablated]) -> list[Ablated]:
    """Each retriever's test as one of so many."""
    gains = [one.gain for one in routes]
    chances = corrected([one.chance for one in gains], [one.won + one.lost for one in gains])
    return [replace(one, corrected=chance) for one, chance in zip(routes, chances, strict=True)]


def ablated(full: Measured, route: str, objective: Objective) -> Ablated:
    """The system without one retriever, held against the whole of it."""
    whole = full.arrays
    less = measured(without(whole, route), full.setting)
    unique = returned = queries = 0
    for stack in whole.stacks:
        found = np.isfinite(stack.signals.rank(route))
        queries += int(stack.signals.batches.any(found).sum())
        mine = found & ~found_by_others(whole.system, stack.signals, route) & (stack.grades > 0)
        places = full.places[stack.queries]
        unique, returned = unique + int(mine.sum()), returned + int(mine[places[places >= 0]].sum())
    return Ablated(
        route, queries, unique, returned, less.mean(objective.metric), gain(objective, full, as_before(full, less))
    )


def as_before(full: Measured, less: Measured) -> Measured:
    """A measurement by the queries of another, which are the same."""
    return Measured(full.arrays, less.setting, less.grades, less.places, less.answered)


def without(whole: Arrays, route: str) -> Arrays:
    """The arrays as a retrieval would have made them that never asks a route."""
    stacks = []
    for stack in whole.stacks:
        rows = np.flatnonzero(staying(whole.system, stack.signals, route))
        if not len(rows):
            continue
        there = np.zeros(len(stack.queries), bool)
        there[stack.signals.batches.of_each[rows]] = True
        signals = forgotten(kept(stack.signals, rows), route)
        stacks += regrouped(whole.system, Stack(stack.plan, stack.queries[there], signals, stack.grades[rows]))
    return replace(whole, stacks=stacks, candidates=sum(len(stack.signals) for stack in stacks))


def found_by_others(system: System, signals: Signals, route: str) -> Mask:
    """Who is in the list of any other route."""
    others = [np.isfinite(signals.rank(other)) for other in system.routes if other != route]
    return np.asarray(np.logical_or.reduce([np.zeros(len(signals), bool), *others]))


def staying(system: System, signals: Signals, route: str) -> Mask:
    """Who would be a candidate all the same: found by another route, or the neighbour of one that was."""
    found = found_by_others(system, signals, route)
    lost = ~found & ~np.isfinite(signals.rank(route))
    if not lost.any():
        return found
    # A session is one query's own, so that neighbours are never those of another.
    place = signals.session * (signals.position.max() + 3) + signals.position
    beside = place[found & (signals.session >= 0)]
    return found | (lost & (np.isin(place, beside + 1) | np.isin(place, beside - 1)))


def forgotten(signals: Signals, route: str) -> Signals:
    """The same candidates with no word of a route."""
    ranks = {name: ranks for name, ranks in signals.ranks.items() if name != route}
    if RERANK in ranks:  # the reranker ranks whoever is there
        ranks[RERANK] = closed_up(signals, ranks[RERANK])
    named, of_whom = signals.entity_match, signals.of_whom
    if route == "entity":
        of_whom = np.where(signals.batches.told(signals.batches.any(named > 0)), 1.0, of_whom)
        named = np.zeros(len(signals))
    scores = {name: scores for name, scores in signals.scores.items() if name != route}
    return replace(signals, ranks=ranks, scores=scores, entity_match=named, of_whom=of_whom)


def closed_up(signals: Signals, ranks: Array) -> Array:
    """Ranks of each batch from 1 on, in the same order."""
    rows = np.flatnonzero(np.isfinite(ranks))
    rows = signals.batches.best(-ranks, signals.by_id, rows)
    counts = np.bincount(signals.batches.of_each[rows], minlength=len(signals.batches))
    closed = np.full(len(signals), np.inf)
    closed[rows] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + 1.0
    return closed


def regrouped(system: System, stack: Stack) -> list[Stack]:
    """A stack by what is still scored alike: who has lost candidates may be scored in another way."""
    alike = system.alike(stack.signals)
    if alike.all() or not alike.any():
        return [stack]
    return [some_of(stack, np.flatnonzero(some)) for some in (alike, ~alike)]


def some_of(stack: Stack, batches: Codes) -> Stack:
    """Some queries of a stack."""
    rows = np.flatnonzero(np.isin(stack.signals.batches.of_each, batches))
    return Stack(stack.plan, stack.queries[batches], kept(stack.signals, rows), stack.grades[rows])


def overlap(whole: Arrays) -> list[list[float | None]]:
    """The share that the first ten of two routes have in common, of the shorter list, mean over queries with both."""
    routes = whole.system.routes
    shares: Mapping[tuple[int, int], list[float]] = defaultdict(list)
    for stack in whole.stacks:
        batch, count = stack.signals.batches.of_each, len(stack.signals.batches)
        lists = [stack.signals.rank(route) <= TOP for route in routes]
        sizes = [np.bincount(batch, weights=one, minlength=count) for one in lists]
        for one in range(len(routes)):
            for other in range(one, len(routes)):
                shorter = np.minimum(sizes[one], sizes[other])
                common = np.bincount(batch, weights=lists[one] & lists[other], minlength=count)
                shares[one, other] += (common[shorter > 0] / shorter[shorter > 0]).tolist()
    return [
        [float(np.mean(some)) if (some := shares[min(a, b), max(a, b)]) else None for b in range(len(routes))]
        for a in range(len(routes))
    ]
