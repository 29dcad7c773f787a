"""How long a setting takes on judged queries: the live metric and the optimiser's rate, system by system."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

import os  # noqa: E402

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recall_site.settings")

import django  # noqa: E402

django.setup()

import numpy as np  # noqa: E402
from scoring_batches import batch  # noqa: E402  # the tests' own batches, more of them
from tuning_arrays import made_up  # noqa: E402

from memories.models.choices import Part  # noqa: E402
from memories.retrieval.query import Setting  # noqa: E402
from memories.tuning.ablating import ablation  # noqa: E402
from memories.tuning.arrays import Arrays  # noqa: E402
from memories.tuning.evaluating import MAIN, compared, measured  # noqa: E402
from memories.tuning.objective import Objective, part_of  # noqa: E402
from memories.tuning.optimising import movable  # noqa: E402
from memories.tuning.sensitivity import points  # noqa: E402
from scoring import resampling  # noqa: E402
from scoring.params import ParamsError  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402
from scoring.systems.system import System  # noqa: E402

CANDIDATES, ROUNDS = 200, 9
LARGE, DEMO = 1_500, 60  # queries of a large set, and about those of the demo's
MEMORIES, DIMENSIONS = 10_000, 384  # among which queries find their candidates, and of the shipped embedder
AIMS = "aims: the metric within 300 ms and 3 settings a second at 1,500 queries, 50 settings a second at the demo's"


class Taken(NamedTuple):
    """The time of a piece of work in milliseconds, and how much of it the processor worked."""

    whole: float
    worked: float


def taken(work: Callable[[], object]) -> Taken:
    """How long a piece of work takes."""
    began, worked = time.perf_counter(), time.process_time()
    work()
    return Taken(1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked))


def median(times: list[Taken]) -> Taken:
    """The middle one."""
    return sorted(times)[len(times) // 2]


def unlike(system: System) -> Iterator[Setting]:
    """Settings of which no two are the same, one parameter moved in each: a cache knows none of them."""
    usual = Setting(system)
    moves = [(name, value) for name in movable(usual) for value in points(usual, name)]
    for place in np.random.default_rng(1).permutation(len(moves)):
        name, value = moves[place]
        try:
            system.params.of({name: value})
        except ParamsError:
            continue
        if value != system.params().as_dict()[name]:
            yield Setting(system, {name: value})


def judged(system: System, queries: int) -> Arrays:
    """Random candidates and grades; what a system does not read is not there, as in a retrieval."""
    several, grades, found = [], [], []
    for number in range(queries):
        rng = np.random.default_rng(number)
        found.append(rng.choice(MEMORIES, CANDIDATES, replace=False))
        ids = np.array([f"{memory:032x}" for memory in found[-1]])
        several.append(replace(batch(CANDIDATES, number), ids=ids, vectors=None))
        grades.append(np.where(rng.random(CANDIDATES) < 0.02, 3.0, 0.0))
    whole = made_up(system, several, grades)
    if "vectors" not in system.reads:
        return whole
    vectors = np.random.default_rng(0).normal(size=(MEMORIES, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stacks = [
        replace(
            stack,
            signals=replace(
                stack.signals, vectors=vectors, vector_of=np.concatenate([found[query] for query in stack.queries])
            ),
        )
        for stack in whole.stacks
    ]
    return replace(whole, stacks=stacks)


def metric(whole: Arrays, setting: Setting) -> None:
    """What the page does when a slider moves: rank, measure with intervals, test against the start."""
    found = measured(whole, setting)
    found.told()
    compared(measured(whole, Setting(whole.system)), found)


def rate(whole: Arrays, settings: Iterator[Setting]) -> float:
    """Settings a second, as the optimiser tries them."""
    objective = Objective(MAIN)
    times = [taken(lambda: objective.each(measured(whole, next(settings)))) for _ in range(ROUNDS)]
    return 1000 / median(times).whole


def main() -> None:
    """Measure every system on a large set and on one like the demo's."""
    print(f"{LARGE:,} and {DEMO} queries with {CANDIDATES} candidates each, {ROUNDS} settings; {AIMS}")
    for name in sys.argv[1:] or SYSTEMS:
        system = SYSTEMS[name]
        settings = unlike(system)
        large, demo = judged(system, LARGE), judged(system, DEMO)
        resampling._drawn.cache_clear()
        measured(large, Setting(system))
        cold = taken(lambda: metric(large, next(settings)))  # noqa: B023
        times = [taken(lambda: metric(large, next(settings))) for _ in range(ROUNDS)]  # noqa: B023
        searched, quick = rate(part_of(large, Part.TUNE), settings), rate(part_of(demo, Part.TUNE), settings)
        ablated = taken(lambda: ablation(large, Setting(system), Objective(MAIN)))  # noqa: B023
        print(
            f"{name:12} metric first {told(cold)}, then {told(median(times))}, at most {told(max(times))}"
            f"   {searched:5.1f} settings a second   {quick:6.1f} at the demo's"
            f"   ablation {ablated.whole / 1000:4.1f} s",
            flush=True,
        )


def told(one: Taken) -> str:
    """A time in words."""
    return f"{one.whole:4.0f} ms ({one.worked:3.0f} of the processor)"


if __name__ == "__main__":
    main()
