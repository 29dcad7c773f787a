"""What each parameter does to a metric over its whole range, all others as they stand."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from memories.retrieval.query import Setting
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import measured
from memories.tuning.optimising import movable
from scoring.params import Choice, Declaration, Number, ParamsError

POINTS = 13  # of a curve
SWEPT = "rrf_k"
PAPER = (20, 40, 50, 60, 70, 80, 120)  # where the paper looked at it


@dataclass(frozen=True)
class Curve:
    """A parameter's values and the metric at each; the value where it stands, and the metric there."""

    name: str
    values: tuple[Any, ...]
    metric: tuple[float, ...]
    stands: Any
    here: float

    @property
    def lowest(self) -> float:
        """The worst of the range."""
        return min(self.metric)

    @property
    def highest(self) -> float:
        """The best of the range."""
        return max(self.metric)

    @property
    def best(self) -> Any:
        """The value at which the metric is highest; where it stands, if that is as good."""
        return self.stands if self.here >= self.highest else self.values[int(np.argmax(self.metric))]

    @property
    def swing(self) -> float:
        """How much the parameter can move the metric."""
        return self.highest - self.lowest


def asking_again(setting: Setting) -> list[str]:
    """The parameters that decide about the candidates, so that each value needs the questions asked anew."""
    return [name for name, one in setting.system.params.declared().items() if one.scope == "candidates"]


def curves(
    arrays: Arrays, setting: Setting, metric: str, part: str, seconds: float, names: Sequence[str] | None = None
) -> Iterator[Curve]:
    """The curves of one parameter after another, for as long as there is time; asked again, it goes on from there."""
    until = time.monotonic() + seconds
    given = tuple(sorted(setting.given.items()))
    for name in names or movable(setting):
        yield arrays.curves.get((given, name, metric, part), partial(curve, arrays, setting, name, metric, part))
        if time.monotonic() > until:
            return


def curve(arrays: Arrays, setting: Setting, name: str, metric: str, part: str) -> Curve:
    """One parameter tried over its range."""
    tried = {value: at(arrays, setting, name, value, metric, part) for value in points(setting, name)}
    found = {value: mean for value, mean in tried.items() if mean is not None}
    stands = setting.system.params.of(dict(setting.given)).as_dict()[name]
    return Curve(name, tuple(found), tuple(found.values()), stands, measured(arrays, setting).mean(metric, part))


def at(arrays: Arrays, setting: Setting, name: str, value: Any, metric: str, part: str) -> float | None:
    """The metric with one parameter elsewhere; none where a rule forbids that."""
    given = {**setting.given, name: value}
    try:
        setting.system.params.of(given)
    except ParamsError:
        return None
    return measured(arrays, Setting(setting.system, given)).mean(metric, part)


def points(setting: Setting, name: str) -> list[Any]:
    """The values at which a parameter is tried, in order."""
    declared: Declaration = setting.system.params.declared()[name]
    if isinstance(declared, Choice):
        return list(declared.options)
    if not isinstance(declared, Number):
        return [False, True]
    spaced = np.geomspace if declared.log else np.linspace
    tried = {float(f"{value:.6g}") for value in spaced(declared.low, declared.high, POINTS)}
    tried |= set(PAPER) if name == SWEPT else set()
    tried = {min(max(value, declared.low), declared.high) for value in tried}
    return sorted({round(value) for value in tried}) if declared.whole else sorted(tried)
