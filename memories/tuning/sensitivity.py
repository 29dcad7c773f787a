"""Sensitivity: the metric over the range of each parameter, all others at their current values."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import measure_config
from memories.tuning.optimiser import tunable_params
from scoring.params import Choice, Declaration, Number, ParamsError

CURVE_POINTS = 13
RRF_K = "rrf_k"
PAPER_K_VALUES = (20, 30, 40, 50, 60, 70, 80, 90, 120)  # the paper's values of RRF k


@dataclass(frozen=True)
class SensitivityCurve:
    """The metric at values of a parameter, and at its current value."""

    name: str
    values: tuple[Any, ...]
    metric: tuple[float, ...]
    current_value: Any
    current_metric: float

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
        """The value with the highest metric; the current one wins ties."""
        return self.current_value if self.current_metric >= self.highest else self.values[int(np.argmax(self.metric))]

    @property
    def effect_size(self) -> float:
        """How much the parameter can move the metric."""
        return self.highest - self.lowest


def params_needing_new_query(config: Config) -> list[str]:
    """The parameters that affect candidates, so that other values need new queries."""
    return [
        name for name, declaration in config.system.params.declarations().items() if declaration.scope == "candidates"
    ]


def sensitivity_curves(
    arrays: Arrays, config: Config, metric: str, split: str, seconds: float, names: Sequence[str] | None = None
) -> Iterator[SensitivityCurve]:
    """The curves of one parameter after another until the time is up; cached, so a second call continues."""
    until = time.monotonic() + seconds
    given = tuple(sorted(config.given.items()))
    for name in names or tunable_params(config):
        yield arrays.curves.get_or_compute(
            (given, name, metric, split), partial(sensitivity_curve, arrays, config, name, metric, split)
        )
        if time.monotonic() > until:
            return


def sensitivity_curve(arrays: Arrays, config: Config, name: str, metric: str, split: str) -> SensitivityCurve:
    """The curve of one parameter."""
    means = {value: metric_at(arrays, config, name, value, metric, split) for value in curve_values(config, name)}
    valid = {value: mean for value, mean in means.items() if mean is not None}
    current = config.system.params.of(dict(config.given)).as_dict()[name]
    return SensitivityCurve(
        name, tuple(valid), tuple(valid.values()), current, measure_config(arrays, config).mean(metric, split)
    )


def metric_at(arrays: Arrays, config: Config, name: str, value: Any, metric: str, split: str) -> float | None:
    """The metric at another value of a parameter; None if a rule forbids it."""
    given = {**config.given, name: value}
    try:
        config.system.params.of(given)
    except ParamsError:
        return None
    return measure_config(arrays, Config(config.system, given)).mean(metric, split)


def curve_values(config: Config, name: str) -> list[Any]:
    """The values of a parameter on its curve, ascending."""
    declaration: Declaration = config.system.params.declarations()[name]
    if isinstance(declaration, Choice):
        return list(declaration.options)
    if not isinstance(declaration, Number):
        return [False, True]
    spaced = np.geomspace if declaration.log else np.linspace
    values = {float(f"{value:.6g}") for value in spaced(declaration.low, declaration.high, CURVE_POINTS)}
    values |= set(PAPER_K_VALUES) if name == RRF_K else set()
    values = {min(max(value, declaration.low), declaration.high) for value in values}
    return sorted({round(value) for value in values}) if declaration.is_integer else sorted(values)
