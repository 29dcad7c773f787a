"""How good a setting is on judged queries: metrics with intervals, and who won and lost against another setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memories.models import JudgedQuery
from memories.retrieval.query import Setting
from memories.tuning.arrays import Arrays
from scoring.metrics import ndcg, recall, reciprocal_rank
from scoring.resampling import Interval, bootstrap, holm, randomisation_test, share
from scoring.term import Array, Mask

AT = 10
# What is measured of queries that have an answer; the two errors of abstaining follow.
NAMES = {"ndcg@10": "nDCG@10", "recall@5": "Recall@5", "recall@10": "Recall@10", "mrr": "MRR"}
METRICS = tuple(NAMES)
LOST, INVENTED = "lost", "invented"  # an answer that was not told; an answer where there is none
ERRORS = {LOST: "Answers withheld", INVENTED: "Answers invented"}
MAIN = "ndcg@10"
BOUND = 0.05  # what chance alone does less often is told as found


@dataclass(frozen=True, eq=False)
class Measured:
    """One setting on one set of arrays."""

    arrays: Arrays
    setting: Setting
    grades: Array  # by rank, −1 where not judged, 0 beyond the end
    places: Array  # of the results in their stacks, −1 beyond the end
    answered: Mask

    @cached_property
    def each(self) -> Mapping[str, Array]:
        """Every metric of every query; of the errors, 1 is one."""
        seen, best = np.maximum(self.grades, 0.0), self.arrays.ideal
        return {
            "ndcg@10": ndcg(seen, best, AT),
            "recall@5": recall(seen, best, 5),
            "recall@10": recall(seen, best, AT),
            "mrr": reciprocal_rank(seen),
            LOST: (~self.answered).astype(float),
            INVENTED: self.answered.astype(float),
        }

    def chosen(self, metric: str, part: str = "", category: str = "") -> Mask:
        """The queries that a metric counts: those with an answer, or for invented ones those without."""
        mask = self.arrays.never_stored if metric == INVENTED else self.arrays.answerable
        return mask & within(self.arrays.queries, part, category)

    def told(self, part: str = "", category: str = "") -> dict[str, Interval]:
        """Every metric with its interval over the queries of a part and a category."""
        answerable, never = (self.chosen(name, part, category) for name in (MAIN, INVENTED))
        columns = np.column_stack([self.each[name][answerable] for name in METRICS])
        found = {**dict(zip(METRICS, bootstrap(columns), strict=True)), LOST: share(self.each[LOST][answerable])}
        return {**found, INVENTED: share(self.each[INVENTED][never])} if never.any() else found

    def mean(self, metric: str, part: str = "") -> float:
        """One metric, without its interval."""
        some = self.each[metric][self.chosen(metric, part)]
        return float(some.mean()) if len(some) else 0.0

    def only(self, rows: Sequence[int]) -> "Measured":
        """The same of some queries, whose candidates are left behind."""
        whole = self.arrays
        queries = [whole.queries[row] for row in rows]
        some = replace(whole, queries=queries, ideal=whole.ideal[rows], stacks=(), candidates=0)
        return Measured(some, self.setting, self.grades[rows], self.places[rows], self.answered[rows])

    def unjudged(self, part: str = "") -> float:
        """Which share of what comes back nobody has judged."""
        some = self.chosen(MAIN, part)
        back = self.places[some] >= 0
        return float((self.grades[some] < 0).sum() / back.sum()) if back.any() else 0.0


def shared(before: Measured, after: Measured) -> tuple[Measured, Measured]:
    """Two measurements on the queries that both have: between two askings of a set some may have come into it."""
    places = {query.id: place for place, query in enumerate(after.arrays.queries)}
    both = [(row, places[query.id]) for row, query in enumerate(before.arrays.queries) if query.id in places]
    return before.only([row for row, _ in both]), after.only([place for _, place in both])


def within(queries: Sequence[JudgedQuery], part: str, category: str) -> Mask:
    """The queries of a part and a category; nothing named lets all through."""
    return np.array([part in ("", one.part) and category in ("", one.category) for one in queries], bool)


def measured(arrays: Arrays, setting: Setting) -> Measured:
    """Rank every query under a setting; the arrays hold the last rankings."""
    key = tuple(sorted(setting.given.items()))
    return Measured(arrays, setting, *arrays.rankings.get(key, lambda: arrays.ranked(setting)))


class Compared(NamedTuple):
    """Two settings on the same queries: by how much a metric moved, how likely by chance, who won and who lost."""

    metric: str
    difference: float
    chance: float  # that signs alone bring as much
    won: int
    lost: int
    moves: Array  # of each query; 0 where it does not count

    @property
    def significant(self) -> bool:
        """Whether chance alone would hardly do it."""
        return self.chance < BOUND


def compared(before: Measured, after: Measured, metric: str = MAIN, part: str = "") -> Compared:
    """Hold one setting against another, query by query."""
    return paired(metric, after.each[metric] - before.each[metric], before.chosen(metric, part))


def paired(metric: str, moves: Array, chosen: Mask) -> Compared:
    """What some queries' moves come to; those that are not chosen do not count."""
    some = moves[chosen]
    return Compared(
        metric,
        float(some.mean()) if len(some) else 0.0,
        randomisation_test(some),
        int((some > 0).sum()),
        int((some < 0).sum()),
        np.where(chosen, moves, 0.0),
    )


def corrected(chances: Sequence[float], moved: Sequence[int]) -> list[float]:
    """The chances of tests made together, raised for how many there are (Holm); `moved` counts each one's queries.

    Where too few queries move for any chance below the bound, nothing can be found, so it does not count among them.
    """
    able = np.array([2.0 ** (1 - count) < BOUND for count in moved], bool)
    raised = np.array(chances, dtype=float)
    raised[able] = holm(raised[able])
    return [float(one) for one in raised]
