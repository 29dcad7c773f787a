"""The weights of the confidence formula, fitted to what annotators would give, and whether confidence is true."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memories.tuning.calibrating.ground import WEIGHTS, Ground
from scoring.calibration import Bin, expected_calibration_error, fit_weights, reliability
from scoring.policy import WritePolicy


@dataclass(frozen=True)
class Change:
    """A number before and after."""

    before: float
    after: float


@dataclass(frozen=True)
class Weights:
    """The four weights before and after, and the mean squared error on either half."""

    served: Mapping[str, float]
    fitted: Mapping[str, float]
    memories: int  # that were fitted on
    error: Change
    held_out: int
    held_out_error: Change

    @property
    def helps(self) -> bool:
        """Whether the half that was kept back bears it out."""
        return self.held_out_error.after < self.held_out_error.before


@dataclass(frozen=True)
class Reliability:
    """Confidence against truth, by the weights that serve and by the fitted ones."""

    memories: int
    held_out: bool  # whether only memories that nothing was fitted on are told of
    before: list[Bin]
    after: list[Bin]
    error: Change | None  # ECE; none before anything is annotated


def serving(policy: WritePolicy) -> dict[str, float]:
    """The weights that serve, with the sum 1 that the formula gives them."""
    return {name: float(one.value) for name, one in zip(WEIGHTS, policy.weights(*WEIGHTS), strict=True)}


def fitted(ground: Ground, policy: WritePolicy) -> Weights | None:
    """Fit the weights on one half, and check them on the other; none where too little is annotated."""
    learnt, kept = ~ground.held_out, ground.held_out
    if len(ground.memories) < policy.annotated_by_two or not learnt.any() or not kept.any():
        return None
    wanted, served = ground.wanted(policy), serving(policy)
    # A weight of nothing has no logarithm to start from.
    start = np.maximum(np.array(list(served.values())), 1e-3)
    fit = fit_weights(
        ground.signals[learnt], wanted[learnt], start / start.sum(), steps=policy.fit_steps, rate=policy.fit_rate
    )
    found = dict(zip(WEIGHTS, [round(float(weight), 4) for weight in fit.weights], strict=True))
    errors = [(ground.trusted(weights, policy) - ground.rated) ** 2 for weights in (served, found)]
    on_learnt, on_kept = (Change(*(float(error[half].mean()) for error in errors)) for half in (learnt, kept))
    return Weights(served, found, int(learnt.sum()), on_learnt, int(kept.sum()), on_kept)


def reliable(ground: Ground, weights: Weights | None, policy: WritePolicy) -> Reliability:
    """Confidence against truth: on what was kept back from the fit, or on everything where there is none."""
    chosen = ground.held_out if weights else np.ones(len(ground.memories), dtype=bool)
    if not chosen.any():
        return Reliability(0, False, [], [], None)
    served = serving(policy)
    right, bins = ground.right[chosen], policy.reliability_bins
    before, after = (ground.trusted(one, policy)[chosen] for one in (served, weights.fitted if weights else served))
    return Reliability(
        int(chosen.sum()),
        weights is not None,
        reliability(before, right, bins),
        reliability(after, right, bins),
        Change(*(expected_calibration_error(one, right, bins) for one in (before, after))),
    )
