"""Quality of a configuration on judged queries: metrics with intervals, and paired comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memories.models import JudgedQuery
from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays
from scoring.metrics import ndcg, recall_at_k, reciprocal_rank
from scoring.resampling import Interval, bootstrap, holm, randomisation_test, wilson_interval
from scoring.term import Array, Mask

CUTOFF = 10
# Metrics of answerable queries; the two abstention errors follow.
METRIC_NAMES = {"ndcg@10": "nDCG@10", "recall@5": "Recall@5", "recall@10": "Recall@10", "mrr": "MRR"}
METRICS = tuple(METRIC_NAMES)
# Abstained though answerable; answered though unanswerable.
FALSE_ABSTENTION, FALSE_ANSWER = "false_abstention", "false_answer"
ERROR_NAMES = {FALSE_ABSTENTION: "False abstentions", FALSE_ANSWER: "False answers"}
MAIN_METRIC = "ndcg@10"
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Measurement:
    """One configuration measured on one set of arrays."""

    arrays: Arrays
    config: Config
    grades: Array  # by rank; −1 if unjudged, 0 beyond the end
    places: Array  # row of each result in its stack, −1 beyond the end
    answered: Mask

    @cached_property
    def per_query(self) -> Mapping[str, Array]:
        """Every metric per query; for the two errors, 1 means it occurred."""
        graded, ideal = np.maximum(self.grades, 0.0), self.arrays.ideal
        return {
            "ndcg@10": ndcg(graded, ideal, CUTOFF),
            "recall@5": recall_at_k(graded, ideal, 5),
            "recall@10": recall_at_k(graded, ideal, CUTOFF),
            "mrr": reciprocal_rank(graded),
            FALSE_ABSTENTION: (~self.answered).astype(float),
            FALSE_ANSWER: self.answered.astype(float),
        }

    def query_mask(self, metric: str, split: str = "", category: str = "") -> Mask:
        """The queries a metric counts: the answerable ones, or the unanswerable ones for false answers."""
        mask = self.arrays.unanswerable if metric == FALSE_ANSWER else self.arrays.answerable
        return mask & split_mask(self.arrays.queries, split, category)

    def intervals(self, split: str = "", category: str = "") -> dict[str, Interval]:
        """Every metric with its interval over the queries of a split and a category."""
        answerable, unanswerable = (self.query_mask(name, split, category) for name in (MAIN_METRIC, FALSE_ANSWER))
        columns = np.column_stack([self.per_query[name][answerable] for name in METRICS])
        intervals = {
            **dict(zip(METRICS, bootstrap(columns), strict=True)),
            FALSE_ABSTENTION: wilson_interval(self.per_query[FALSE_ABSTENTION][answerable]),
        }
        return (
            {**intervals, FALSE_ANSWER: wilson_interval(self.per_query[FALSE_ANSWER][unanswerable])}
            if unanswerable.any()
            else intervals
        )

    def mean(self, metric: str, split: str = "") -> float:
        """The mean of one metric."""
        values = self.per_query[metric][self.query_mask(metric, split)]
        return float(values.mean()) if len(values) else 0.0

    def subset(self, rows: Sequence[int]) -> "Measurement":
        """The same measurement restricted to some queries, without their candidates."""
        arrays = self.arrays
        queries = [arrays.queries[row] for row in rows]
        subset = replace(arrays, queries=queries, ideal=arrays.ideal[rows], stacks=(), candidates=0)
        return Measurement(subset, self.config, self.grades[rows], self.places[rows], self.answered[rows])

    def unjudged_share(self, split: str = "") -> float:
        """The share of results that are unjudged."""
        mask = self.query_mask(MAIN_METRIC, split)
        returned = self.places[mask] >= 0
        return float((self.grades[mask] < 0).sum() / returned.sum()) if returned.any() else 0.0


def align_measurements(before: Measurement, after: Measurement) -> tuple[Measurement, Measurement]:
    """Two measurements restricted to the queries both have: queries may be added between two traced sets."""
    rows_after = {query.id: after_row for after_row, query in enumerate(after.arrays.queries)}
    pairs = [
        (before_row, rows_after[query.id])
        for before_row, query in enumerate(before.arrays.queries)
        if query.id in rows_after
    ]
    return before.subset([before_row for before_row, _ in pairs]), after.subset([after_row for _, after_row in pairs])


def split_mask(queries: Sequence[JudgedQuery], split: str, category: str) -> Mask:
    """The queries of a split and a category; an empty string matches all."""
    return np.array([split in ("", query.split) and category in ("", query.category) for query in queries], bool)


def measure_config(arrays: Arrays, config: Config) -> Measurement:
    """Rank every query under a configuration; the arrays cache recent rankings."""
    key = tuple(sorted(config.given.items()))
    return Measurement(arrays, config, *arrays.rankings.get_or_compute(key, lambda: arrays.rank(config)))


class PairedComparison(NamedTuple):
    """Two configurations on the same queries: mean difference, p-value, wins and losses."""

    metric: str
    difference: float
    p_value: float  # paired randomisation test
    won: int
    lost: int
    deltas: Array  # per query; 0 if it does not count

    @property
    def significant(self) -> bool:
        """Whether the p-value is below the significance level."""
        return self.p_value < SIGNIFICANCE_LEVEL


def compare_measurements(
    before: Measurement, after: Measurement, metric: str = MAIN_METRIC, split: str = ""
) -> PairedComparison:
    """Compare two configurations query by query."""
    return paired_comparison(
        metric, after.per_query[metric] - before.per_query[metric], before.query_mask(metric, split)
    )


def paired_comparison(metric: str, deltas: Array, mask: Mask) -> PairedComparison:
    """Summarise per-query differences over the queries in the mask."""
    counted = deltas[mask]
    return PairedComparison(
        metric,
        float(counted.mean()) if len(counted) else 0.0,
        randomisation_test(counted),
        int((counted > 0).sum()),
        int((counted < 0).sum()),
        np.where(mask, deltas, 0.0),
    )


def adjust_p_values(p_values: Sequence[float], changed_counts: Sequence[int]) -> list[float]:
    """Holm-adjust p-values of tests made together; `changed_counts` has the number of changed queries of each test.

    A test with too few changed queries to ever reach significance is not counted.
    """
    testable = np.array([2.0 ** (1 - count) < SIGNIFICANCE_LEVEL for count in changed_counts], bool)
    adjusted = np.array(p_values, dtype=float)
    adjusted[testable] = holm(adjusted[testable])
    return [float(p_value) for p_value in adjusted]
