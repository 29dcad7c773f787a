"""Rankings of many questions against what is known to answer them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.quality.worlds import Case
from memories.retrieval.query import Query
from memories.retrieval.retrieve import Retrieval, ranking_of, retrieve
from memories.retrieval.settings import setting
from scoring import metrics
from scoring.params import Params
from scoring.term import Array

TOP = 10


@dataclass(frozen=True, eq=False)
class Asked:
    """A case with what was retrieved for it, to be ranked again under other parameters."""

    case: Case
    retrieval: Retrieval

    def grades(self, params: Params | None = None) -> list[int]:
        """The grades of the first ten; an answer that is withheld is ranked all the same."""
        ranking = self.retrieval.ranking
        if params is not None:
            retrieval = self.retrieval
            ranking = ranking_of(retrieval.query, retrieval.signals, params, retrieval.planning.plan)
        rows = ranking.order.rows[:TOP].tolist()
        return [self.case.grades.get(self.retrieval.batch.rows[row]["id"], 0) for row in rows]


def ask(cases: Sequence[Case], system: str, tell: Callable[[int], None], **params: Any) -> list[Asked]:
    """Retrieve for every case by one system with its defaults."""
    found = []
    for number, case in enumerate(cases):
        query = Query(
            namespace=case.namespace,
            text=case.text,
            setting=setting(case.namespace, system=system, params=params),
            top_k=TOP,
            filters=case.filters,
            as_of=case.as_of,
        )
        found.append(Asked(case, retrieve(query)))
        tell(number + 1)
    return found


def measured(asked: Sequence[Asked], params: Params | None = None) -> dict[str, Array]:
    """Recall at 5 and 10 and nDCG at 10 of every answerable case that has an answer stored."""
    some = answerable(asked)
    grades = np.zeros((len(some), TOP))
    widest = max((len(one.case.grades) for one in some), default=0)
    ideal = np.zeros((len(some), max(widest, TOP)))
    for place, one in enumerate(some):
        row, best = one.grades(params), sorted(one.case.grades.values(), reverse=True)
        grades[place, : len(row)], ideal[place, : len(best)] = row, best
    return {
        "R@5": metrics.recall(grades, ideal, 5),
        "R@10": metrics.recall(grades, ideal, TOP),
        "nDCG@10": metrics.ndcg(grades, ideal, TOP),
    }


def answerable(asked: Sequence[Asked]) -> list[Asked]:
    """The cases that count for ranking."""
    return [one for one in asked if one.case.answerable and any(one.case.grades.values())]


def mean(values: Mapping[str, Array]) -> str:
    """The means, as they are printed."""
    return "  ".join(f"{name} {float(some.mean()):.3f}" for name, some in values.items() if len(some))


def by_category(asked: Sequence[Asked], params: Params | None = None) -> dict[str, str]:
    """The means of every category."""
    names = sorted({one.case.category for one in answerable(asked)})
    return {name: mean(measured([one for one in asked if one.case.category == name], params)) for name in names}


def roc(asked: Sequence[Asked], params: Params | None = None) -> tuple[float, dict[float, float]]:
    """How well chance tells what was never stored: the area, and what is caught when few answers are lost."""
    chances = np.array([chance_of(one, params) for one in asked])
    stored = np.array([one.case.answerable for one in asked])
    if stored.all() or not stored.any():
        return float("nan"), {}
    good, bad = chances[stored], chances[~stored]
    area = float((good[:, None] > bad[None, :]).mean() + 0.5 * (good[:, None] == bad[None, :]).mean())
    caught = {lost: float((bad < np.quantile(good, lost)).mean()) for lost in (0.05, 0.1, 0.2)}
    return area, caught


def chance_of(one: Asked, params: Params | None) -> float:
    """The chance that the best hit is an answer."""
    retrieval = one.retrieval
    if params is None:
        return retrieval.ranking.chance
    return ranking_of(retrieval.query, retrieval.signals, params, retrieval.planning.plan).chance
