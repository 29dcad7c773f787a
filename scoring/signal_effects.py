"""Which stored signals a configuration reads, and how far each moves a score: computed, not declared."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from scoring.params import Params
from scoring.signals import Signals
from scoring.systems import SYSTEMS
from scoring.systems.system import System, passing

PROBES = 21  # candidates, of which the one in the middle is varied
AGE_DAYS, CONFIDENCE = 30.0, 0.8  # of every probe, so that freshness and trust can move both ways


@dataclass(frozen=True)
class SignalEffect:
    """What a stored signal does to the score of a middling candidate over its span."""

    name: str
    span: tuple[float, float]
    lowest: float  # factor of the score
    highest: float
    filters: bool  # whether a gate reads it

    @property
    def is_read(self) -> bool:
        """Whether it changes anything."""
        return self.filters or not (self.lowest == self.highest == 1.0)


@lru_cache(maxsize=256)
def signal_effects(name: str, params: Params) -> tuple[SignalEffect, ...]:
    """The effect of every stored signal under a system's parameters, by trying both ends of its span.

    >>> effects = {effect.name: effect for effect in signal_effects("contextdb", SYSTEMS["contextdb"].params())}
    >>> effects["useful"].is_read, effects["access_count"].is_read
    (True, False)
    """
    system = SYSTEMS[name]
    base = probes(system)
    before = probe_score(system, base, params)
    effects = []
    for column, span in Signals.stored_spans().items():
        ends = [with_middle(base, column, value) for value in span]
        open_ends = [signals for signals in ends if passing(signals, system.gates(signals, params))[PROBES // 2]]
        factors = [1.0, *(probe_score(system, signals, params) / before for signals in open_ends)]
        effects.append(SignalEffect(column, span, min(factors), max(factors), len(open_ends) < len(ends)))
    return tuple(effects)


def probes(system: System) -> Signals:
    """Candidates from the best to the worst match, all else equal; every retriever of the system finds them all."""
    falling = np.linspace(0.9, 0.1, PROBES)
    return Signals(
        ids=np.array([f"{number:02}" for number in range(PROBES)]),
        age_days=np.full(PROBES, AGE_DAYS),
        confidence=np.full(PROBES, CONFIDENCE),
        cosine=falling,
        maxsim=falling,
        ranks={retriever: np.arange(1.0, PROBES + 1) for retriever in system.retrievers},
        scores=dict.fromkeys(system.retrievers, falling),
    )


def with_middle(signals: Signals, column: str, value: float) -> Signals:
    """The same candidates with another value of a column for the one in the middle."""
    changed: dict[str, Any] = {column: getattr(signals, column).copy()}
    changed[column][PROBES // 2] = value
    return replace(signals, **changed)


def probe_score(system: System, signals: Signals, params: Params) -> float:
    """The score of the candidate in the middle."""
    return float(system.score(signals, params).value[PROBES // 2])
