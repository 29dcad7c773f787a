"""The objective of a search: a metric minus a penalty for abstention errors, per query."""

from dataclasses import dataclass, replace

import numpy as np

from memories.tuning.arrays import Arrays, Stack
from memories.tuning.measurement import FALSE_ABSTENTION, FALSE_ANSWER, SIGNIFICANCE_LEVEL, Measurement
from scoring.resampling import Interval, bootstrap, randomisation_test
from scoring.stacking import select_candidates
from scoring.term import Array, Mask


@dataclass(frozen=True)
class Objective:
    """A metric over answerable queries; with a price, each abstention error costs that much."""

    metric: str
    price: float = 0.0

    def query_mask(self, arrays: Arrays) -> Mask:
        """The queries that count: answerable ones, and with a price unanswerable ones too.

        Queries without judgements, or without any relevant memory left, never count.
        """
        return arrays.answerable | arrays.unanswerable if self.price else arrays.answerable

    def per_query(self, measurement: Measurement) -> Array:
        """The objective of each counted query."""
        answerable = measurement.arrays.answerable
        errors = np.where(answerable, measurement.per_query[FALSE_ABSTENTION], measurement.per_query[FALSE_ANSWER])
        values = np.where(answerable, measurement.per_query[self.metric], 0.0) - self.price * errors
        return values[self.query_mask(measurement.arrays)]


@dataclass(frozen=True)
class Gain:
    """The difference of two configurations on the same queries, with interval and p-value."""

    difference: float
    low: float
    high: float
    p_value: float
    won: int
    lost: int
    queries: int

    @property
    def significant(self) -> bool:
        """Whether it is significantly better."""
        return self.difference > 0 and self.p_value < SIGNIFICANCE_LEVEL


def paired_gain(objective: Objective, before: Measurement, after: Measurement) -> Gain:
    """Compare two configurations by a paired test."""
    deltas = objective.per_query(after) - objective.per_query(before)
    mean, low, high = bootstrap(deltas[:, None])[0] if len(deltas) else Interval(0.0, 0.0, 0.0)
    p_value = randomisation_test(deltas)
    return Gain(mean, low, high, p_value, int((deltas > 0).sum()), int((deltas < 0).sum()), len(deltas))


def split_arrays(arrays: Arrays, split: str) -> Arrays:
    """The queries of one split."""
    return arrays_subset(arrays, np.array([query.split == split for query in arrays.queries], bool))


def arrays_subset(arrays: Arrays, mask: Mask) -> Arrays:
    """The arrays restricted to some queries."""
    new_index = np.cumsum(mask) - 1
    stacks = []
    for stack in arrays.stacks:
        selected = mask[stack.queries]
        rows = np.flatnonzero(selected[stack.signals.batches.batch_index])
        if len(rows):
            queries = new_index[stack.queries[selected]]
            stacks.append(Stack(stack.plan, queries, select_candidates(stack.signals, rows), stack.grades[rows]))
    return replace(
        arrays,
        queries=[query for query, selected in zip(arrays.queries, mask, strict=True) if selected],
        ideal=arrays.ideal[mask],
        stacks=stacks,
        candidates=sum(len(stack.signals) for stack in stacks),
    )
