"""Runs of the cases of a dataset, and their metrics."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.quality.worlds import Case
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Query
from memories.retrieval.retrieve import Retrieval, rank_candidates, retrieve
from scoring import metrics
from scoring.params import Params
from scoring.signals import Signals
from scoring.systems.system import Ranking
from scoring.term import Array, Codes
from scoring.without_retrievers import remaining_candidates, without_retrievers

TOP = 10


@dataclass(frozen=True, eq=False)
class CaseRun:
    """A case with its retrieval, which can be re-ranked under other parameters."""

    case: Case
    retrieval: Retrieval

    def top(self, params: Params | None = None) -> list[UUID]:
        """The top ten, even if the answer abstained; under other parameters, by the retrievers those weight."""
        rows, ranking = self.rerank(params)
        return [self.retrieval.candidates.rows[row]["id"] for row in rows[ranking.order.rows[:TOP]].tolist()]

    def rerank(self, params: Params | None) -> tuple[Codes, Ranking]:
        """The rows of the candidates, and their ranking."""
        retrieval, signals = self.retrieval, self.retrieval.signals
        rows = np.arange(len(signals))
        if params is None or not len(signals):
            return rows, retrieval.ranking
        system = retrieval.query.config.system
        if dropped := signals.ranks.keys() & (set(system.retrievers) - set(system.weighted_retrievers(params))):
            rows = remaining_candidates(signals, dropped)
            signals = without_retrievers(signals, rows, dropped) if len(rows) else Signals(ids=signals.ids[:0])
        return rows, rank_candidates(retrieval.query, signals, params, retrieval.query_plan.plan)

    def grades(self, params: Params | None = None) -> list[int]:
        """Grades of the top ten."""
        return [self.case.grades.get(id, 0) for id in self.top(params)]


def run_cases(
    cases: Sequence[Case], system: str, progress: Callable[[int], None], *, all_retrievers: bool = False, **params: Any
) -> list[CaseRun]:
    """Run every case with one system and its defaults; with `all_retrievers`, so that some can be dropped later."""
    results = []
    for number, case in enumerate(cases):
        query = Query(
            namespace=case.namespace,
            text=case.text,
            config=resolve_config(case.namespace, system=system, params=params),
            top_k=TOP,
            filters=case.filters,
            as_of=case.as_of,
            all_retrievers=all_retrievers,
        )
        results.append(CaseRun(case, retrieve(query)))
        progress(number + 1)
    return results


def metric_values(runs: Sequence[CaseRun], params: Params | None = None) -> dict[str, Array]:
    """Recall@5, Recall@10 and nDCG@10 of every answerable case with a stored answer."""
    answerable = answerable_runs(runs)
    grades = np.zeros((len(answerable), TOP))
    widest = max((len(run.case.grades) for run in answerable), default=0)
    ideal = np.zeros((len(answerable), max(widest, TOP)))
    for index, run in enumerate(answerable):
        row, best = run.grades(params), sorted(run.case.grades.values(), reverse=True)
        grades[index, : len(row)], ideal[index, : len(best)] = row, best
    return {
        "R@5": metrics.recall_at_k(grades, ideal, 5),
        "R@10": metrics.recall_at_k(grades, ideal, TOP),
        "nDCG@10": metrics.ndcg(grades, ideal, TOP),
    }


def answerable_runs(runs: Sequence[CaseRun]) -> list[CaseRun]:
    """The runs that count for ranking metrics."""
    return [run for run in runs if run.case.answerable and any(run.case.grades.values())]


def format_means(values: Mapping[str, Array]) -> str:
    """Means as text."""
    return "  ".join(f"{name} {float(per_case.mean()):.3f}" for name, per_case in values.items() if len(per_case))


def means_by_category(runs: Sequence[CaseRun], params: Params | None = None) -> dict[str, str]:
    """Means per category."""
    names = sorted({run.case.category for run in answerable_runs(runs)})
    return {
        name: format_means(metric_values([run for run in runs if run.case.category == name], params)) for name in names
    }


def abstention_roc(runs: Sequence[CaseRun], params: Params | None = None) -> tuple[float, dict[float, float]]:
    """ROC of abstention: AUC, and unanswerable queries caught at given false abstention rates."""
    probabilities = np.array([answer_probability_of(run, params) for run in runs])
    answerable = np.array([run.case.answerable for run in runs])
    if answerable.all() or not answerable.any():
        return float("nan"), {}
    positives, negatives = probabilities[answerable], probabilities[~answerable]
    above, ties = positives[:, None] > negatives[None, :], positives[:, None] == negatives[None, :]
    area = float(above.mean() + 0.5 * ties.mean())
    caught = {rate: float((negatives < np.quantile(positives, rate)).mean()) for rate in (0.05, 0.1, 0.2)}
    return area, caught


def answer_probability_of(run: CaseRun, params: Params | None) -> float:
    """Probability that the best hit is an answer."""
    return run.rerank(params)[1].answer_probability
