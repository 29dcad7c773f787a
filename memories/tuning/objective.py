"""What a search makes as large as it can: a metric, less a price for errors of abstaining, query by query."""

from dataclasses import dataclass, replace

import numpy as np

from memories.tuning.arrays import Arrays, Stack
from memories.tuning.evaluating import BOUND, INVENTED, LOST, Measured
from scoring.resampling import Interval, bootstrap, randomisation_test
from scoring.stacking import kept
from scoring.term import Array, Mask


@dataclass(frozen=True)
class Objective:
    """A metric of the queries that have an answer; with a price, every error of abstaining costs it."""

    metric: str
    price: float = 0.0

    def counted(self, arrays: Arrays) -> Mask:
        """The queries that count: those with an answer, and where errors cost something those that never had one.

        What nobody has judged yet, or what has lost its answers, is neither right nor wrong to answer.
        """
        return arrays.answerable | arrays.never_stored if self.price else arrays.answerable

    def each(self, measured: Measured) -> Array:
        """What each query that counts is worth."""
        answerable = measured.arrays.answerable
        errors = np.where(answerable, measured.each[LOST], measured.each[INVENTED])
        worth = np.where(answerable, measured.each[self.metric], 0.0) - self.price * errors
        return worth[self.counted(measured.arrays)]


@dataclass(frozen=True)
class Gain:
    """How much better one setting is than another on the same queries: with its interval, and how likely by chance."""

    difference: float
    low: float
    high: float
    chance: float
    won: int
    lost: int
    queries: int

    @property
    def proven(self) -> bool:
        """Whether it is better, and hardly by chance."""
        return self.difference > 0 and self.chance < BOUND


def gain(objective: Objective, before: Measured, after: Measured) -> Gain:
    """Hold two settings against each other by a paired test."""
    moves = objective.each(after) - objective.each(before)
    mean, low, high = bootstrap(moves[:, None])[0] if len(moves) else Interval(0.0, 0.0, 0.0)
    chance = randomisation_test(moves)
    return Gain(mean, low, high, chance, int((moves > 0).sum()), int((moves < 0).sum()), len(moves))


def part_of(arrays: Arrays, part: str) -> Arrays:
    """The queries of one part alone."""
    return some_of(arrays, np.array([query.part == part for query in arrays.queries], bool))


def some_of(arrays: Arrays, chosen: Mask) -> Arrays:
    """Some queries, as if there were no others."""
    number = np.cumsum(chosen) - 1
    stacks = []
    for stack in arrays.stacks:
        mine = chosen[stack.queries]
        rows = np.flatnonzero(mine[stack.signals.batches.of_each])
        if len(rows):
            queries = number[stack.queries[mine]]
            stacks.append(Stack(stack.plan, queries, kept(stack.signals, rows), stack.grades[rows]))
    return replace(
        arrays,
        queries=[query for query, mine in zip(arrays.queries, chosen, strict=True) if mine],
        ideal=arrays.ideal[chosen],
        stacks=stacks,
        candidates=sum(len(stack.signals) for stack in stacks),
    )
