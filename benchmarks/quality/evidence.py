"""What evidence, feedback and accesses cost and gain at an amplitude, simulated on the queries of a dataset."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np

from benchmarks.quality.measuring import TOP, CaseRun, answerable_runs, metric_values
from scoring.signals import Signals
from scoring.systems.blend import BlendParams
from scoring.term import Array

Columns = Callable[[CaseRun], dict[str, Array]]
NEUTRAL = ("belief", "useful", "not_useful", "access_count")  # signals of the three factors
OFF = BlendParams(belief=0.0, utility=0.0, use=0.0)
DEALS = 5  # random deals of beliefs, and random halves of the queries
PASSES = 5  # over all queries
RATED = 3  # results of a query that get feedback
BELIEFS = (*(5.0,) * 8, 3.5, 5.5, 6.0)  # about as in the demo


def report_evidence(runs: Sequence[CaseRun]) -> None:
    """Print the change of nDCG@10 by each factor at its default amplitude."""
    runs = [run for run in answerable_runs(runs) if len(run.retrieval.signals)]
    base = mean_ndcg(runs, OFF)
    dealt = [mean_ndcg(with_columns(runs, random_beliefs(seed)), only("belief")) - base for seed in range(DEALS)]
    print(f"    beliefs dealt at random  {np.mean(dealt):+.4f}, worst {min(dealt):+.4f}")
    again, others = zip(*(feedback_changes(runs, seed) for seed in range(DEALS)), strict=True)
    print(f"    feedback on half         again {np.mean(again):+.4f}, others {np.mean(others):+.4f}")
    print(f"    accesses by the queries  {access_change(runs) - base:+.4f}")


def only(name: str) -> BlendParams:
    """The defaults with only one of the three factors."""
    return OFF.with_values(**{name: getattr(BlendParams(), name)})


def mean_ndcg(runs: Sequence[CaseRun], params: BlendParams) -> float:
    """Mean nDCG@10."""
    return float(metric_values(runs, params)["nDCG@10"].mean())


def ids_of(run: CaseRun) -> list[UUID]:
    """The candidates of a run."""
    return [row["id"] for row in run.retrieval.candidates.rows]


def with_columns(runs: Sequence[CaseRun], columns: Columns) -> list[CaseRun]:
    """The runs with other values of some signals."""
    changed = []
    for run in runs:
        neutral = {name: np.full(len(run.retrieval.signals), Signals.columns()[name][0]) for name in NEUTRAL}
        candidates = run.retrieval.candidates
        signals = replace(candidates.signals, **{**neutral, **columns(run)})
        changed.append(replace(run, retrieval=replace(run.retrieval, candidates=replace(candidates, signals=signals))))
    return changed


def random_beliefs(seed: int) -> Columns:
    """Beliefs that have nothing to do with relevance, the same for a memory in every query."""
    rng, dealt = np.random.default_rng(seed), dict[UUID, float]()
    return lambda run: {
        "belief": np.array([dealt.setdefault(id, BELIEFS[rng.integers(len(BELIEFS))]) for id in ids_of(run)])
    }


def feedback_changes(runs: Sequence[CaseRun], seed: int) -> tuple[float, float]:
    """The change on the half of the queries whose first results were rated, and on the other half."""
    rated = np.random.default_rng(seed).random(len(runs)) < 0.5
    useful, not_useful = Counter[UUID](), Counter[UUID]()
    for run, is_rated in zip(runs, rated.tolist(), strict=True):
        for id in run.top(OFF)[:RATED] if is_rated else ():
            (useful if run.case.grades.get(id) else not_useful)[id] += 1
    after = with_columns(
        runs,
        lambda run: {
            "useful": np.array([useful[id] for id in ids_of(run)], dtype=float),
            "not_useful": np.array([not_useful[id] for id in ids_of(run)], dtype=float),
        },
    )
    change = metric_values(after, only("utility"))["nDCG@10"] - metric_values(runs, OFF)["nDCG@10"]
    return float(change[rated].mean()), float(change[~rated].mean())


def access_change(runs: Sequence[CaseRun]) -> float:
    """Mean nDCG@10 while every query counts its results as accessed, over several passes in random order."""
    accesses, values = Counter[UUID](), []
    for seed in range(PASSES):
        for index in np.random.default_rng(seed).permutation(len(runs)).tolist():
            counted = with_columns(
                [runs[index]],
                lambda run: {"access_count": np.array([accesses[id] for id in ids_of(run)], dtype=float)},
            )
            values.append(mean_ndcg(counted, only("use")))
            accesses.update(counted[0].top(only("use"))[:TOP])
    return float(np.mean(values))
