"""The paper's sweep of RRF k on judged queries: the metric at each k with its interval, and the gain of the best."""

from dataclasses import dataclass, replace

from memories.models import Namespace
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import (
    MAIN_METRIC,
    SIGNIFICANCE_LEVEL,
    PairedComparison,
    adjust_p_values,
    compare_measurements,
    measure_config,
)
from memories.tuning.sensitivity import PAPER_K_VALUES, RRF_K
from scoring.params import Number
from scoring.resampling import Interval
from scoring.systems import SYSTEMS

SYSTEMS_WITH_K = tuple(name for name, system in SYSTEMS.items() if RRF_K in system.params.declarations())


@dataclass(frozen=True)
class SweepPoint:
    """One k compared with the current one."""

    k: float
    metric: Interval
    comparison: PairedComparison
    current: bool
    p_value: float = 1.0  # Holm-adjusted over all k

    @property
    def significant(self) -> bool:
        """Whether it differs significantly from the current k."""
        return self.p_value < SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class Sweep:
    """The metric at every k."""

    config: Config
    metric: str
    points: list[SweepPoint]

    @property
    def current_point(self) -> SweepPoint:
        """The point at the current k."""
        return next(point for point in self.points if point.current)

    @property
    def best(self) -> SweepPoint:
        """The best point; the current one wins ties."""
        return max(self.points, key=lambda point: (point.metric.mean, point.current))

    @property
    def improves(self) -> bool:
        """Whether another k beats the current one."""
        return not self.best.current


def sweep_rrf_k(arrays: Arrays, config: Config, metric: str = MAIN_METRIC, split: str = "") -> Sweep:
    """Measure every k the paper reports, and the current one."""
    declaration = config.system.params.declarations()[RRF_K]
    assert isinstance(declaration, Number)
    current_k = config.system.params.of(dict(config.given)).as_dict()[RRF_K]
    baseline = measure_config(arrays, config)
    points = []
    for k in sorted({current_k, *(float(k) for k in PAPER_K_VALUES if declaration.accepts(k))}):
        measurement = (
            baseline if k == current_k else measure_config(arrays, Config(config.system, {**config.given, RRF_K: k}))
        )
        interval = measurement.intervals(split)[metric]
        points.append(
            SweepPoint(float(k), interval, compare_measurements(baseline, measurement, metric, split), k == current_k)
        )
    return Sweep(config, metric, adjust_sweep_p_values(points))


def adjust_sweep_p_values(points: list[SweepPoint]) -> list[SweepPoint]:
    """Holm-adjust the p-values; the current k is not tested."""
    tested = [point for point in points if not point.current]
    p_values = adjust_p_values(
        [point.comparison.p_value for point in tested],
        [point.comparison.won + point.comparison.lost for point in tested],
    )
    by_k = dict(zip([point.k for point in tested], p_values, strict=True))
    return [replace(point, p_value=by_k.get(point.k, 1.0)) for point in points]


def sweep_config(namespace: Namespace) -> Config:
    """Where a namespace's sweep starts: the serving configuration, or the paper's own system if that has no k."""
    serving = resolve_config(namespace, params={})
    return (
        serving
        if serving.system.name in SYSTEMS_WITH_K
        else resolve_config(namespace, system=SYSTEMS_WITH_K[0], params={})
    )
