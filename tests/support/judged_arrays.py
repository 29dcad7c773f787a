"""Judged queries generated as arrays, without a database."""

from uuid import uuid4

import numpy as np

from memories.models import JudgedQuery
from memories.models.choices import Split
from memories.tuning.arrays import Arrays, Stack
from scoring.signals import Signals
from scoring.specificity import Plan
from scoring.stacking import stack_signals
from scoring.systems.system import System
from scoring.term import Array
from tests.support.scoring_inputs import batch


def make_arrays(system: System, several: list[Signals], grades: list[Array]) -> Arrays:
    """Queries with their candidates and grades, every third held out; all under one plan."""
    alike: dict[object, list[int]] = {}
    for number, one in enumerate(several):
        alike.setdefault(bool(system.batch_key(one)[0]), []).append(number)
    plan = Plan("all", retrievers=system.retrievers)
    ideal = np.array([np.sort(np.pad(one, (0, max(map(len, grades)) - len(one))))[::-1] for one in grades])
    return Arrays(
        system=system,
        queries=[
            JudgedQuery(id=uuid4(), text=f"query {number}", split=Split.HOLDOUT if number % 3 == 2 else Split.TUNE)
            for number in range(len(several))
        ],
        ideal=ideal,
        stacks=[
            Stack(
                plan,
                np.array(some),
                stack_signals([several[number] for number in some]),
                np.concatenate([grades[number] for number in some]),
            )
            for some in alike.values()
        ],
        candidates=sum(map(len, several)),
    )


def planted_arrays(system: System, queries: int, size: int = 30) -> Arrays:
    """The memory that the word list ranks first is the answer, and whatever else is known says nothing of it."""
    several, grades = [], []
    for number in range(queries):
        one = batch(size, seed=number)
        signals = Signals(
            ids=np.char.add(f"{number:05}", one.ids),
            ranks={"semantic": one.rank("semantic"), "bm25": np.random.default_rng(number).permutation(size) + 1.0},
            cosine=one.cosine,
        )
        several.append(signals)
        grades.append(np.where(signals.rank("bm25") == 1, 3.0, 0.0))
    return make_arrays(system, several, grades)


def noise_arrays(system: System, queries: int, size: int = 30) -> Arrays:
    """Grades that have nothing to do with anything that is known."""
    several = [batch(size, seed=number) for number in range(queries)]
    several = [
        Signals(ids=np.char.add(f"{number:05}", one.ids), ranks=one.ranks, cosine=one.cosine, age_days=one.age_days)
        for number, one in enumerate(several)
    ]
    grades = [
        np.where(np.random.default_rng(9_000 + number).permutation(size) < 2, 3.0, 0.0) for number in range(queries)
    ]
    return make_arrays(system, several, grades)
