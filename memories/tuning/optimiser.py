"""The optimiser: a job that tries configurations on the tune split and checks the winner once on the holdout split."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import numpy as np

from memories.contracts.work import Step, Work, is_cancelled
from memories.models import JudgementSet
from memories.models.choices import Split
from memories.retrieval.query import Config
from memories.tuning import traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import measure_config
from memories.tuning.objective import Objective, paired_gain, split_arrays
from memories.tuning.pareto import TRADEOFFS, pareto_front, tradeoff_measure
from memories.tuning.parsimony import simplest_change
from scoring.params import ParamsError
from scoring.searching import ParamAxis, ParamSearch, ParamValues
from scoring.systems import SYSTEMS
from scoring.term import Array

DEFAULT_TRIALS, DEFAULT_SECONDS = 400, 60  # default budget: trials and time
MAX_TRIALS, MAX_SECONDS = 5_000, 900
DEFAULT_SEED = 1
PROGRESS_INTERVAL = 0.3  # seconds between progress updates
EXPLORATION_PER_PARAM = 5  # random trials per parameter before local search, at most a third of all trials
MAX_POINTS = 300  # points in the trade-off chart


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """What to search: judgement set, start configuration, parameters to move, objective and budget."""

    set: UUID
    config: Config
    move: tuple[str, ...]
    objective: Objective
    against: str
    max_trials: int
    seconds: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As stored in the job's parameters; shares its keys with a trace job."""
        config = self.config
        return {
            "set": str(self.set),
            "system": config.system.name,
            "params": traced_sets.candidate_params(config),
            "given": dict(config.given),
            "profile": config.profile,
            "version": config.version,
            "version_id": str(config.version_id) if config.version_id else None,
            "move": list(self.move),
            **asdict(self.objective),
            "against": self.against,
            "max_trials": self.max_trials,
            "seconds": self.seconds,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SearchSpec":
        """Restore a spec from a job's parameters."""
        version = UUID(data["version_id"]) if data["version_id"] else None
        return cls(
            set=UUID(data["set"]),
            config=Config(SYSTEMS[data["system"]], data["given"], data["profile"], data["version"], version),
            move=tuple(data["move"]),
            objective=Objective(data["metric"], data["price"]),
            against=data["against"],
            max_trials=data["max_trials"],
            seconds=data["seconds"],
            seed=data["seed"],
        )

    def config_with(self, values: ParamValues) -> Config:
        """The start configuration with some values changed; unchanged ones are left to the plans."""
        return Config(self.config.system, {**self.config.given, **self.changes(values)})

    def changes(self, values: ParamValues) -> dict[str, Any]:
        """The values that differ from the start."""
        start = self.start_values
        return {name: value for name, value in values.items() if value != start[name]}

    @property
    def start_values(self) -> Mapping[str, Any]:
        """All parameters at the start."""
        return self.config.system.params.of(dict(self.config.given)).as_dict()


def tunable_params(config: Config) -> list[str]:
    """The parameters a search may move: those that need no new candidates."""
    declarations = config.system.params.declarations()
    return [name for name, declaration in declarations.items() if declaration.scope == "score"]


class SearchCancelledError(Exception):
    """The search was cancelled."""


def search_trace_step(work: Work) -> None:
    """Trace the judgement set unless a current traced set exists; cancelling deletes a partial one."""
    spec = SearchSpec.from_dict(work.job.params)
    judgement_set = JudgementSet.objects.within(work.namespace).get(id=spec.set)
    if "traced_set" not in work.step_result and traced_sets.current_traced_set(
        work.namespace, judgement_set, spec.config
    ):
        return
    traced_set = traced_sets.job_traced_set(work, work.job.params)
    try:
        traced_sets.fill_traced_set(traced_set, CancellableProgress(work).record)
    except SearchCancelledError:
        traced_set.delete()
        work.step_result["stopped"] = True
        work.record_progress(0)


class CancellableProgress:
    """Progress of the tracing step that polls for cancellation."""

    def __init__(self, work: Work) -> None:
        self.work, self.last_check = work, time.perf_counter()

    def record(self, done: int, total: int | None = None, **counts: int) -> None:
        """Record progress; raise `SearchCancelledError` if the job was cancelled."""
        if time.perf_counter() - self.last_check > PROGRESS_INTERVAL:
            self.last_check = time.perf_counter()
            if is_cancelled(self.work.job):
                raise SearchCancelledError
        self.work.record_progress(done, total, **counts)


def search_arrays(work: Work, spec: SearchSpec) -> Arrays:
    """The arrays of the spec's judgement set."""
    judgement_set = JudgementSet.objects.within(work.namespace).get(id=spec.set)
    traced = traced_sets.latest_traced_set(work.namespace, judgement_set, spec.config)
    assert traced is not None
    return cached_arrays(traced)


def search_step(work: Work) -> None:
    """Try configurations on the tune split until the budget is spent or the job is cancelled; then pick one."""
    if work.job.result.get("trace", {}).get("stopped"):
        work.step_result.update(stopped=True, tried=0)
        return
    spec = SearchSpec.from_dict(work.job.params)
    run = SearchRun(work, spec, split_arrays(search_arrays(work, spec), Split.TUNE))
    run.run()
    work.step_result["chosen"] = simplest_change(spec.changes(run.search.best[0]), run.objective_values, run.is_valid)
    run.report()


class SearchRun:
    """A search in progress."""

    def __init__(self, work: Work, spec: SearchSpec, arrays: Arrays) -> None:
        self.work, self.spec, self.arrays = work, spec, arrays
        declarations = spec.config.system.params.declarations()
        axes = [ParamAxis(name, declarations[name]) for name in spec.move]
        exploration = min(EXPLORATION_PER_PARAM * len(axes), spec.max_trials // 3)
        self.search = ParamSearch(axes, spec.start_values, self.is_valid, exploration, spec.seed)
        self.tradeoffs: list[float] = []
        self.improvements: list[tuple[int, float]] = []  # (trial, best score) at each improvement
        self.started = time.perf_counter()

    def is_valid(self, values: ParamValues) -> bool:
        """Whether the values are valid under every plan."""
        config = self.spec.config_with(values)
        try:
            return all(config.params_under(stack.plan) for stack in self.arrays.stacks)
        except ParamsError:
            return False

    def objective_values(self, values: ParamValues) -> Array:
        """The objective of each query under some parameter values."""
        return self.spec.objective.per_query(measure_config(self.arrays, self.spec.config_with(values)))

    def run(self) -> None:
        """Run trials until the budget is spent."""
        tradeoff = tradeoff_measure(self.work.namespace, self.arrays, self.spec.against)
        last_report = 0.0
        while len(self.search.evaluated) < self.spec.max_trials and self.elapsed < self.spec.seconds:
            values = self.search.propose()
            if values is None:
                break
            measurement = measure_config(self.arrays, self.spec.config_with(values))
            objective = self.spec.objective.per_query(measurement)
            score = float(objective.mean()) if len(objective) else 0.0
            if not self.improvements or score > self.improvements[-1][1]:
                self.improvements.append((len(self.search.evaluated) + 1, score))
            self.search.record(values, score)
            self.tradeoffs.append(tradeoff(measurement))
            if self.elapsed - last_report > PROGRESS_INTERVAL:
                last_report = self.elapsed
                self.report()
                if is_cancelled(self.work.job):
                    self.work.step_result["stopped"] = True
                    break

    @property
    def elapsed(self) -> float:
        """Seconds since the search started."""
        return time.perf_counter() - self.started

    def report(self) -> None:
        """Store progress: the best so far, its improvements, and the trade-off points."""
        trials = len(self.search.evaluated)
        self.work.step_result.update(
            tried=trials,
            seconds=round(self.elapsed, 2),
            start=self.search.evaluated[0][1] if trials else None,
            best=self.search.best[1] if trials else None,
            changed=self.spec.changes(self.search.best[0]) if trials else {},
            improved=self.improvements,
            points=self.points(),
        )
        self.work.record_progress(trials, self.spec.max_trials)

    def points(self) -> list[dict[str, Any]]:
        """Quality against the trade-off: the Pareto front, and a sample of the other trials."""
        quality, tradeoff = np.array([score for _, score in self.search.evaluated]), np.array(self.tradeoffs)
        on_front = pareto_front(quality, tradeoff, TRADEOFFS[self.spec.against][1])
        stride = max(1, -(-len(quality) // MAX_POINTS))
        return [
            {
                "quality": round(float(quality[trial]), 6),
                "other": round(float(tradeoff[trial]), 6),
                "front": bool(on_front[trial]),
                **({"changed": self.spec.changes(self.search.evaluated[trial][0])} if on_front[trial] else {}),
            }
            for trial in range(len(quality))
            if on_front[trial] or trial % stride == 0
        ]


def holdout_step(work: Work) -> None:
    """Compare the chosen configuration with the start, once, on the holdout split."""
    if not work.job.result["search"]["tried"]:
        return
    spec, chosen_values = SearchSpec.from_dict(work.job.params), work.job.result["search"]["chosen"]
    all_queries = search_arrays(work, spec)
    for split in (Split.TUNE, Split.HOLDOUT):
        split_only = split_arrays(all_queries, split)
        baseline = measure_config(split_only, spec.config)
        candidate = measure_config(split_only, spec.config_with(chosen_values))
        gain = paired_gain(spec.objective, baseline, candidate)
        work.step_result[split] = {
            **asdict(gain),
            "before": {name: interval._asdict() for name, interval in baseline.intervals().items()},
            "after": {name: interval._asdict() for name, interval in candidate.intervals().items()},
        }
        if split == Split.HOLDOUT:
            work.step_result["significant"] = bool(chosen_values) and gain.significant
    work.record_progress(1, 1)


STEPS: dict[str, Step] = {"trace": search_trace_step, "search": search_step, "check": holdout_step}
