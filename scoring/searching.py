r"""Search the declared range of some parameters for the setting that scores best; the same seed, the same settings.

First the start, then a spread over the whole space (a Latin hypercube), then ever closer to the best: by turns one
parameter a stride up or down (pattern search, the stride shrinks when no move helps), the best moved by the difference
of two good ones (differential evolution), and now and then anything, so that a hill does not hide a higher one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring.params import Choice, Declaration, Number
from scoring.term import Array

Values = Mapping[str, Any]

WIDEST, NARROWEST = 0.25, 0.01  # strides, as shares of a range
GOOD = 8  # settings among which differences are taken
BOLD = 0.1  # of all proposals go anywhere
DIGITS = 3  # of a value on a scale of powers of ten, as sliders write it
PATIENCE = 200  # proposals in a row that were tried before or break a rule: then there is nothing new


@dataclass(frozen=True)
class Axis:
    """One parameter as a line from 0 to 1."""

    name: str
    declaration: Declaration

    def value(self, place: float) -> Any:
        """The value at a place, on the steps of its slider."""
        declared, place = self.declaration, min(max(place, 0.0), 1.0)
        if isinstance(declared, Choice):
            return declared.options[min(int(place * len(declared.options)), len(declared.options) - 1)]
        if not isinstance(declared, Number):
            return place >= 0.5
        low, high = declared.low, declared.high
        if declared.log:
            raw = float(f"{low * (high / low) ** place:.{DIGITS}g}")
        else:
            raw = round(low + declared.step * round(place * (high - low) / declared.step), 10)
        kept = min(max(raw, low), high)
        return round(kept) if declared.whole else kept

    def place(self, value: Any) -> float:
        """The place of a value."""
        declared = self.declaration
        if isinstance(declared, Choice):
            return (declared.options.index(value) + 0.5) / len(declared.options)
        if not isinstance(declared, Number):
            return 0.75 if value else 0.25
        low, high = declared.low, declared.high
        return math.log(value / low) / math.log(high / low) if declared.log else (value - low) / (high - low)


@dataclass(eq=False)
class Search:
    """Settings of some parameters, proposed one after another; whoever measures one tells its score."""

    axes: Sequence[Axis]
    start: Values
    allowed: Callable[[Values], bool]  # whether a setting breaks no rule
    spread: int  # settings before the search closes in
    seed: int
    tried: list[tuple[Values, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._known: set[tuple[Any, ...]] = set()
        self._waiting = [np.array([axis.place(self.start[axis.name]) for axis in self.axes]), *self._hypercube()]
        self._stride, self._turn, self._since = WIDEST, 0, 0

    @property
    def best(self) -> tuple[Values, float]:
        """The best setting so far and its score; of equals the first."""
        return max(self.tried, key=lambda one: one[1])

    def proposal(self) -> Values | None:
        """The next setting that is worth a look; none where all were tried."""
        for _ in range(PATIENCE):
            place = self._waiting.pop(0) if self._waiting else self._next()
            values = {axis.name: axis.value(float(at)) for axis, at in zip(self.axes, place, strict=True)}
            key = tuple(values.values())
            if key not in self._known and self.allowed(values):
                self._known.add(key)
                return values
        return None

    def tell(self, values: Values, score: float) -> None:
        """What a proposed setting scored."""
        better = not self.tried or score > self.best[1]
        self.tried.append((values, score))
        if self._waiting:
            return
        self._since = 0 if better else self._since + 1
        if self._since > 4 * len(self.axes):  # nothing near by: look closer, and after the closest look wide again
            self._stride = self._stride / 2 if self._stride / 2 >= NARROWEST else WIDEST
            self._since = 0

    def _hypercube(self) -> list[Array]:
        """As many places as the spread, of which each axis has one in each of its equal parts."""
        parts = [self._rng.permutation(self.spread) for _ in self.axes]
        return list((np.column_stack(parts) + self._rng.random((self.spread, len(self.axes)))) / max(self.spread, 1))

    def _next(self) -> Array:
        best = self._place(self.best[0])
        if self._rng.random() < BOLD:
            return self._rng.random(len(self.axes))
        self._turn += 1
        if self._turn % 2:
            return self._step(best)
        good = sorted(self.tried, key=lambda one: -one[1])[:GOOD]
        one, other = (self._place(good[place][0]) for place in self._rng.integers(0, len(good), 2))
        noise = self._rng.normal(0.0, self._stride / 4, len(self.axes))
        return np.asarray(best + self._rng.uniform(0.3, 1.0) * (one - other) + noise)

    def _step(self, best: Array) -> Array:
        """The best with one parameter moved: by the stride, at least by what its slider can show."""
        axis = int(self._rng.integers(len(self.axes)))
        declared, moved = self.axes[axis].declaration, best.copy()
        if not isinstance(declared, Number):
            moved[axis] = self._rng.random()
            return moved
        least = 0.0 if declared.log else declared.step / (declared.high - declared.low)
        moved[axis] += self._rng.choice((-1.0, 1.0)) * max(self._stride * self._rng.uniform(0.5, 1.0), least)
        return moved

    def _place(self, values: Values) -> Array:
        return np.array([axis.place(values[axis.name]) for axis in self.axes])
