"""Confidence weights fitted to annotators' confidence, and the reliability of confidence."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memories.tuning.calibration.annotated import WEIGHTS, AnnotatedSet
from scoring.calibration import ReliabilityBin, expected_calibration_error, fit_weights, reliability_curve
from scoring.policy import WritePolicyParams


@dataclass(frozen=True)
class BeforeAfter:
    """A number before and after."""

    before: float
    after: float


@dataclass(frozen=True)
class FittedWeights:
    """The four weights before and after, and their mean squared error on both halves."""

    served: Mapping[str, float]
    fitted: Mapping[str, float]
    memories: int  # fitted on
    error: BeforeAfter
    held_out: int
    held_out_error: BeforeAfter

    @property
    def improves(self) -> bool:
        """Whether the error falls on the held-out half."""
        return self.held_out_error.after < self.held_out_error.before


@dataclass(frozen=True)
class Reliability:
    """Confidence against correctness, by the serving and the fitted weights."""

    memories: int
    held_out: bool  # whether the bins hold only held-out memories
    before: list[ReliabilityBin]
    after: list[ReliabilityBin]
    error: BeforeAfter | None  # ECE; None without annotations


def serving_weights(policy: WritePolicyParams) -> dict[str, float]:
    """The serving weights, normalised to sum to 1."""
    return {name: float(weight.value) for name, weight in zip(WEIGHTS, policy.weights(*WEIGHTS), strict=True)}


def fit_confidence_weights(annotated: AnnotatedSet, policy: WritePolicyParams) -> FittedWeights | None:
    """Fit the weights on one half and measure them on the other; None if too little is annotated."""
    fitted_on, held_out = ~annotated.held_out, annotated.held_out
    if len(annotated.memories) < policy.annotated_by_two or not fitted_on.any() or not held_out.any():
        return None
    target, served = annotated.fit_target(policy), serving_weights(policy)
    # A weight of 0 has no logarithm.
    start = np.maximum(np.array(list(served.values())), 1e-3)
    fit = fit_weights(
        annotated.signals[fitted_on],
        target[fitted_on],
        start / start.sum(),
        steps=policy.fit_steps,
        rate=policy.fit_rate,
    )
    fitted = dict(zip(WEIGHTS, [round(float(weight), 4) for weight in fit.weights], strict=True))
    errors = [
        (annotated.predicted_confidence(weights, policy) - annotated.mean_confidence) ** 2
        for weights in (served, fitted)
    ]
    fit_error, held_out_error = (
        BeforeAfter(*(float(error[half].mean()) for error in errors)) for half in (fitted_on, held_out)
    )
    return FittedWeights(served, fitted, int(fitted_on.sum()), fit_error, int(held_out.sum()), held_out_error)


def reliability_report(
    annotated: AnnotatedSet, weights: FittedWeights | None, policy: WritePolicyParams
) -> Reliability:
    """Confidence against correctness: on the held-out half, or on all memories if no weights were fitted."""
    chosen = annotated.held_out if weights else np.ones(len(annotated.memories), dtype=bool)
    if not chosen.any():
        return Reliability(0, False, [], [], None)
    served = serving_weights(policy)
    right, bins = annotated.right_share[chosen], policy.reliability_bins
    before, after = (
        annotated.predicted_confidence(values, policy)[chosen]
        for values in (served, weights.fitted if weights else served)
    )
    return Reliability(
        int(chosen.sum()),
        weights is not None,
        reliability_curve(before, right, bins),
        reliability_curve(after, right, bins),
        BeforeAfter(*(expected_calibration_error(confidence, right, bins) for confidence in (before, after))),
    )
