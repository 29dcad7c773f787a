"""The paper's sweep of k on judged queries: the metric at each with its interval, and what the best would bring."""

from dataclasses import dataclass, replace

from memories.models import Namespace
from memories.retrieval.query import Setting
from memories.retrieval.settings import setting
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import BOUND, MAIN, Compared, compared, corrected, measured
from memories.tuning.sensitivity import PAPER, SWEPT
from scoring.params import Number
from scoring.resampling import Interval
from scoring.systems import SYSTEMS

HAVE_K = tuple(name for name, one in SYSTEMS.items() if SWEPT in one.params.declared())


@dataclass(frozen=True)
class Swept:
    """One k, and how it does against the one that stands."""

    k: float
    metric: Interval
    moved: Compared
    current: bool
    chance: float = 1.0  # of the move, raised for how many are tried

    @property
    def proven(self) -> bool:
        """Whether it does better or worse by more than chance."""
        return self.chance < BOUND


@dataclass(frozen=True)
class Sweep:
    """All that were tried."""

    setting: Setting
    metric: str
    rows: list[Swept]

    @property
    def here(self) -> Swept:
        """The one that stands."""
        return next(one for one in self.rows if one.current)

    @property
    def best(self) -> Swept:
        """The best; the one that stands, if that is as good."""
        return max(self.rows, key=lambda one: (one.metric.mean, one.current))

    @property
    def moves(self) -> bool:
        """Whether another one is better."""
        return not self.best.current


def sweep(arrays: Arrays, start: Setting, metric: str = MAIN, part: str = "") -> Sweep:
    """Measure every k at which the paper looked, and the one that stands."""
    declared = start.system.params.declared()[SWEPT]
    assert isinstance(declared, Number)
    here = start.system.params.of(dict(start.given)).as_dict()[SWEPT]
    before = measured(arrays, start)
    rows = []
    for k in sorted({here, *(float(k) for k in PAPER if declared.accepts(k))}):
        found = before if k == here else measured(arrays, Setting(start.system, {**start.given, SWEPT: k}))
        told = found.told(part)[metric]
        rows.append(Swept(float(k), told, compared(before, found, metric, part), k == here))
    return Sweep(start, metric, together(rows))


def together(rows: list[Swept]) -> list[Swept]:
    """Each k's test as one of so many; the one that stands is held against nothing."""
    others = [one for one in rows if not one.current]
    chances = corrected([one.moved.chance for one in others], [one.moved.won + one.moved.lost for one in others])
    raised = dict(zip([one.k for one in others], chances, strict=True))
    return [replace(one, chance=raised.get(one.k, 1.0)) for one in rows]


def swept_setting(namespace: Namespace) -> Setting:
    """Where a namespace's sweep begins: what serves, or where that has no k, the paper's own system."""
    served = setting(namespace, params={})
    return served if served.system.name in HAVE_K else setting(namespace, system=HAVE_K[0], params={})
