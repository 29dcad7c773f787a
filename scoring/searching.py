r"""Black-box search over the declared ranges of parameters; deterministic for a seed.

Starts with the current values and a Latin hypercube sample, then alternates pattern search (one parameter moves by a
stride, which shrinks without improvement) and differential evolution (the best plus the difference of two elite
points), with occasional random points to escape local optima.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring.params import Choice, Declaration, Number
from scoring.term import Array

ParamValues = Mapping[str, Any]

MAX_STRIDE, MIN_STRIDE = 0.25, 0.01  # as shares of a range
ELITE_SIZE = 8  # points that differential evolution draws from
EXPLORATION_RATE = 0.1  # share of random proposals
LOG_DIGITS = 3  # significant digits on a log scale, as in the sliders
MAX_REJECTED = 200  # consecutive duplicate or invalid proposals after which the space counts as exhausted


@dataclass(frozen=True)
class ParamAxis:
    """A parameter mapped to [0, 1]."""

    name: str
    declaration: Declaration

    def value(self, position: float) -> Any:
        """The value at a position, rounded to the slider's step."""
        declared, position = self.declaration, min(max(position, 0.0), 1.0)
        if isinstance(declared, Choice):
            return declared.options[min(int(position * len(declared.options)), len(declared.options) - 1)]
        if not isinstance(declared, Number):
            return position >= 0.5
        low, high = declared.low, declared.high
        if declared.log:
            raw = float(f"{low * (high / low) ** position:.{LOG_DIGITS}g}")
        else:
            raw = round(low + declared.step * round(position * (high - low) / declared.step), 10)
        clamped = min(max(raw, low), high)
        return round(clamped) if declared.is_integer else clamped

    def position(self, value: Any) -> float:
        """The position of a value."""
        declared = self.declaration
        if isinstance(declared, Choice):
            return (declared.options.index(value) + 0.5) / len(declared.options)
        if not isinstance(declared, Number):
            return 0.75 if value else 0.25
        low, high = declared.low, declared.high
        return math.log(value / low) / math.log(high / low) if declared.log else (value - low) / (high - low)


@dataclass(eq=False)
class ParamSearch:
    """Proposes points one at a time; the caller evaluates each and records its score."""

    axes: Sequence[ParamAxis]
    start: ParamValues
    is_valid: Callable[[ParamValues], bool]  # whether the values satisfy all rules
    initial_samples: int  # Latin hypercube points before the local search
    seed: int
    evaluated: list[tuple[ParamValues, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._seen: set[tuple[Any, ...]] = set()
        self._queue = [np.array([axis.position(self.start[axis.name]) for axis in self.axes]), *self._hypercube()]
        self._stride, self._turn, self._without_gain = MAX_STRIDE, 0, 0

    @property
    def best(self) -> tuple[ParamValues, float]:
        """The best point so far and its score; the first on ties."""
        return max(self.evaluated, key=lambda point: point[1])

    def propose(self) -> ParamValues | None:
        """The next new valid point; None if the space is exhausted."""
        for _ in range(MAX_REJECTED):
            point = self._queue.pop(0) if self._queue else self._next_position()
            values = {axis.name: axis.value(float(position)) for axis, position in zip(self.axes, point, strict=True)}
            key = tuple(values.values())
            if key not in self._seen and self.is_valid(values):
                self._seen.add(key)
                return values
        return None

    def record(self, values: ParamValues, score: float) -> None:
        """Record the score of a proposed point."""
        better = not self.evaluated or score > self.best[1]
        self.evaluated.append((values, score))
        if self._queue:
            return
        self._without_gain = 0 if better else self._without_gain + 1
        # No improvement nearby: halve the stride; after the smallest, start again from the largest.
        if self._without_gain > 4 * len(self.axes):
            self._stride = self._stride / 2 if self._stride / 2 >= MIN_STRIDE else MAX_STRIDE
            self._without_gain = 0

    def _hypercube(self) -> list[Array]:
        """Latin hypercube sample: one point per stratum of each axis."""
        strata = np.column_stack([self._rng.permutation(self.initial_samples) for _ in self.axes])
        offsets = self._rng.random((self.initial_samples, len(self.axes)))
        return list((strata + offsets) / max(self.initial_samples, 1))

    def _next_position(self) -> Array:
        best = self._position_of(self.best[0])
        if self._rng.random() < EXPLORATION_RATE:
            return self._rng.random(len(self.axes))
        self._turn += 1
        if self._turn % 2:
            return self._step(best)
        elite = sorted(self.evaluated, key=lambda point: -point[1])[:ELITE_SIZE]
        first, second = (self._position_of(elite[index][0]) for index in self._rng.integers(0, len(elite), 2))
        noise = self._rng.normal(0.0, self._stride / 4, len(self.axes))
        return np.asarray(best + self._rng.uniform(0.3, 1.0) * (first - second) + noise)

    def _step(self, best: Array) -> Array:
        """The best point with one parameter moved by the stride, at least one slider step."""
        axis = int(self._rng.integers(len(self.axes)))
        declared, moved = self.axes[axis].declaration, best.copy()
        if not isinstance(declared, Number):
            moved[axis] = self._rng.random()
            return moved
        slider_step = 0.0 if declared.log else declared.step / (declared.high - declared.low)
        moved[axis] += self._rng.choice((-1.0, 1.0)) * max(self._stride * self._rng.uniform(0.5, 1.0), slider_step)
        return moved

    def _position_of(self, values: ParamValues) -> Array:
        return np.array([axis.position(values[axis.name]) for axis in self.axes])
