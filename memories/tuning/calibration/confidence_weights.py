"""The weights of the confidence formula, fitted to what annotators would give, and whether confidence is true."""

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
    """The four weights before and after, and the mean squared error on either half."""

    served: Mapping[str, float]
    fitted: Mapping[str, float]
    memories: int  # that were fitted on
    error: BeforeAfter
    held_out: int
    held_out_error: BeforeAfter

    @property
    def improves(self) -> bool:
        """Whether the error falls on the held-out half."""
        return self.held_out_error.after < self.held_out_error.before


@dataclass(frozen=True)
class Reliability:
    """Confidence against truth, by the weights that serve and by the fitted ones."""

    memories: int
    held_out: bool  # whether only memories that nothing was fitted on are told of
    before: list[ReliabilityBin]
    after: list[ReliabilityBin]
    error: BeforeAfter | None  # ECE; none before anything is annotated


def serving_weights(policy: WritePolicyParams) -> dict[str, float]:
    """The weights that serve, with the sum 1 that the formula gives them."""
    return {name: float(one.value) for name, one in zip(WEIGHTS, policy.weights(*WEIGHTS), strict=True)}


def fit_confidence_weights(annotated: AnnotatedSet, policy: WritePolicyParams) -> FittedWeights | None:
    """Fit the weights on one half, and check them on the other; none where too little is annotated."""
    learnt, kept = ~annotated.held_out, annotated.held_out
    if len(annotated.memories) < policy.annotated_by_two or not learnt.any() or not kept.any():
        return None
    wanted, served = annotated.fit_target(policy), serving_weights(policy)
    # A weight of nothing has no logarithm to start from.
    start = np.maximum(np.array(list(served.values())), 1e-3)
    fit = fit_weights(
        annotated.signals[learnt], wanted[learnt], start / start.sum(), steps=policy.fit_steps, rate=policy.fit_rate
    )
    found = dict(zip(WEIGHTS, [round(float(weight), 4) for weight in fit.weights], strict=True))
    errors = [
        (annotated.predicted_confidence(weights, policy) - annotated.mean_confidence) ** 2
        for weights in (served, found)
    ]
    on_learnt, on_kept = (BeforeAfter(*(float(error[half].mean()) for error in errors)) for half in (learnt, kept))
    return FittedWeights(served, found, int(learnt.sum()), on_learnt, int(kept.sum()), on_kept)


def reliability_report(
    annotated: AnnotatedSet, weights: FittedWeights | None, policy: WritePolicyParams
) -> Reliability:
    """Confidence against truth: on the held-out half, or on all memories if no weights were fitted."""
    chosen = annotated.held_out if weights else np.ones(len(annotated.memories), dtype=bool)
    if not chosen.any():
        return Reliability(0, False, [], [], None)
    served = serving_weights(policy)
    right, bins = annotated.right_share[chosen], policy.reliability_bins
    before, after = (
        annotated.predicted_confidence(one, policy)[chosen] for one in (served, weights.fitted if weights else served)
    )
    return Reliability(
        int(chosen.sum()),
        weights is not None,
        reliability_curve(before, right, bins),
        reliability_curve(after, right, bins),
        BeforeAfter(*(expected_calibration_error(one, right, bins) for one in (before, after))),
    )
