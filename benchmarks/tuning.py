"""How long a setting takes on judged queries: the live metric and the optimiser's rate, system by system."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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
from memories.tuning.evaluating import MAIN, measured  # noqa: E402
from memories.tuning.objective import Objective, part_of  # noqa: E402
from scoring.systems import SYSTEMS  # noqa: E402
from scoring.systems.system import System  # noqa: E402

CANDIDATES, ROUNDS = 200, 5
LARGE, DEMO = 1_500, 60  # queries of a large set, and about those of the demo's
AIMS = "aims: the metric within 300 ms and 3 settings a second at 1,500 queries, 50 settings a second at the demo's"


def typical(work: Callable[[], object]) -> float:
    """The median time of a piece of work in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[ROUNDS // 2]


def judged(system: System, queries: int) -> Arrays:
    """Random candidates and grades; what a system does not read is not there, as in a retrieval."""
    several, grades = [], []
    for number in range(queries):
        one = batch(CANDIDATES, number)
        one = replace(one, ids=np.char.add(f"{number:05}", one.ids))
        several.append(one if "vectors" in system.reads else replace(one, vectors=None))
        grades.append(np.where(np.random.default_rng(number).random(CANDIDATES) < 0.02, 3.0, 0.0))
    return made_up(system, several, grades)


def main() -> None:
    """Measure every system on a large set and on one like the demo's."""
    print(f"{LARGE:,} and {DEMO} queries with {CANDIDATES} candidates each, median of {ROUNDS}; {AIMS}")
    for name, system in SYSTEMS.items():
        setting, objective = Setting(system), Objective(MAIN)
        large, demo = judged(system, LARGE), judged(system, DEMO)
        told = typical(lambda: measured(large, setting).told())  # noqa: B023
        tune, small = part_of(large, Part.TUNE), part_of(demo, Part.TUNE)
        rate = 1000 / typical(lambda: objective.each(measured(tune, setting)))  # noqa: B023
        quick = 1000 / typical(lambda: objective.each(measured(small, setting)))  # noqa: B023
        began = time.perf_counter()
        ablation(large, setting, objective)
        print(
            f"{name:12} metric with intervals {told:6.0f} ms   {rate:6.1f} settings a second"
            f"   {quick:7.1f} at the demo's   ablation {time.perf_counter() - began:4.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
