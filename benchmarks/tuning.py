"""Evaluation speed on judged queries, per system: live metric, optimiser rate and ablation."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

import django

django.setup()

import numpy as np
from scoring_batches import batch  # the batches of the tests, more of them
from tuning_arrays import made_up

from memories.models.choices import Split
from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import MAIN_METRIC, compare_measurements, measure_config
from memories.tuning.objective import Objective, split_arrays
from memories.tuning.optimiser import tunable_params
from memories.tuning.retriever_ablation import ablate_retrievers
from memories.tuning.sensitivity import curve_values
from scoring import resampling
from scoring.params import ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.system import System

CANDIDATES, ROUNDS = 200, 9
LARGE, DEMO = 1_500, 60  # queries of a large test collection, and about as many as the demo has
MEMORIES, DIMENSIONS = 10_000, 384  # memories in the corpus, dimensions of the shipped embedder
TARGETS = "targets: metric within 300 ms and 3 configs/s at 1,500 queries, 50 configs/s at the demo's size"


class Timing(NamedTuple):
    """Wall and CPU time of a call in ms."""

    wall: float
    cpu: float


def time_call(work: Callable[[], object]) -> Timing:
    """Time a call."""
    began, cpu_began = time.perf_counter(), time.process_time()
    work()
    return Timing(1000 * (time.perf_counter() - began), 1000 * (time.process_time() - cpu_began))


def median(times: list[Timing]) -> Timing:
    """Median by wall time."""
    return sorted(times)[len(times) // 2]


def distinct_configs(system: System) -> Iterator[Config]:
    """Distinct configurations with one parameter changed each, so that no cache applies."""
    default = Config(system)
    moves = [(name, value) for name in tunable_params(default) for value in curve_values(default, name)]
    for index in np.random.default_rng(1).permutation(len(moves)):
        name, value = moves[index]
        try:
            system.params.of({name: value})
        except ParamsError:
            continue
        if value != system.params().as_dict()[name]:
            yield Config(system, {name: value})


def random_arrays(system: System, queries: int) -> Arrays:
    """Random candidates and grades, with only the features the system uses, as in a retrieval."""
    signals, grades, candidates = [], [], []
    for number in range(queries):
        rng = np.random.default_rng(number)
        candidates.append(rng.choice(MEMORIES, CANDIDATES, replace=False))
        ids = np.array([f"{memory:032x}" for memory in candidates[-1]])
        signals.append(replace(batch(CANDIDATES, number), ids=ids, vectors=None))
        grades.append(np.where(rng.random(CANDIDATES) < 0.02, 3.0, 0.0))
    whole = made_up(system, signals, grades)
    if "vectors" not in system.optional_features:
        return whole
    vectors = np.random.default_rng(0).normal(size=(MEMORIES, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stacks = [
        replace(
            stack,
            signals=replace(
                stack.signals, vectors=vectors, vector_of=np.concatenate([candidates[query] for query in stack.queries])
            ),
        )
        for stack in whole.stacks
    ]
    return replace(whole, stacks=stacks)


def measure_slider_move(arrays: Arrays, config: Config) -> None:
    """The work of a slider move: rank, measure with intervals, test against the start."""
    measurement = measure_config(arrays, config)
    measurement.intervals()
    compare_measurements(measure_config(arrays, Config(arrays.system)), measurement)


def configs_per_second(arrays: Arrays, configs: Iterator[Config]) -> float:
    """Configurations per second, as in the optimiser."""
    objective = Objective(MAIN_METRIC)
    times = [time_call(lambda: objective.per_query(measure_config(arrays, next(configs)))) for _ in range(ROUNDS)]
    return 1000 / median(times).wall


def main() -> None:
    """Measure every system on a large test collection and on one of the demo's size."""
    print(f"{LARGE:,} and {DEMO} queries with {CANDIDATES} candidates each, {ROUNDS} configs; {TARGETS}")
    for name in sys.argv[1:] or SYSTEMS:
        system = SYSTEMS[name]
        configs = distinct_configs(system)
        large, demo = random_arrays(system, LARGE), random_arrays(system, DEMO)
        resampling._resample_counts.cache_clear()
        measure_config(large, Config(system))
        cold = time_call(lambda: measure_slider_move(large, next(configs)))  # noqa: B023
        times = [time_call(lambda: measure_slider_move(large, next(configs))) for _ in range(ROUNDS)]  # noqa: B023
        large_rate = configs_per_second(split_arrays(large, Split.TUNE), configs)
        demo_rate = configs_per_second(split_arrays(demo, Split.TUNE), configs)
        ablation = time_call(lambda: ablate_retrievers(large, Config(system), Objective(MAIN_METRIC)))  # noqa: B023
        print(
            f"{name:12} metric first {format_timing(cold)}, then {format_timing(median(times))}, "
            f"at most {format_timing(max(times))}"
            f"   {large_rate:5.1f} configs/s   {demo_rate:6.1f} configs/s at the demo's size"
            f"   ablation {ablation.wall / 1000:4.1f} s",
            flush=True,
        )


def format_timing(timing: Timing) -> str:
    """Format a timing."""
    return f"{timing.wall:4.0f} ms ({timing.cpu:3.0f} CPU)"


if __name__ == "__main__":
    main()
