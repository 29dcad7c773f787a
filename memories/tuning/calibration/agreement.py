"""Inter-annotator agreement by type, and the prior fitted to it."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from memories.models.choices import MemoryType
from memories.tuning.calibration.annotated import AnnotatedMemory, AnnotatedSet, AnnotatorLabel
from scoring.calibration import cohens_kappa, kappa_standard_error, kappa_suffices, type_prior
from scoring.policy import WritePolicyParams

Z_95 = 1.96  # standard errors to either side, for 95 %


class Kappa(NamedTuple):
    """Cohen's kappa with its interval."""

    value: float
    low: float
    high: float
    pairs: int = 1  # of annotators with memories in common
    undefined: int = 0  # pairs that use one label only, which have no kappa


@dataclass(frozen=True)
class TypeAgreement:
    """Agreement on one type: between annotators, and with the stored type."""

    type: str
    kappa: Kappa | None  # None if too few memories are shared, or no pair of annotators uses both labels
    gate: float
    stored: int  # annotated memories stored as this type
    agreed: int  # of those, with the same type from every annotator
    prior: float  # in the serving policy
    fitted: float | None  # None if too few are annotated

    @property
    def valid(self) -> bool:
        """Whether its kappa passes the gate."""
        return self.kappa is not None and kappa_suffices(self.kappa.value, self.gate)

    @property
    def share(self) -> float | None:
        """Agreement with the stored type."""
        return self.agreed / self.stored if self.stored else None

    @property
    def param(self) -> str:
        """The write parameter that holds its prior."""
        return f"prior_{self.type.lower()}"


def agreement_by_type(annotated: AnnotatedSet, policy: WritePolicyParams) -> list[TypeAgreement]:
    """Every type against all others."""
    enough = len(annotated.shared) >= policy.annotated_by_two
    return [type_agreement(annotated, type, policy, enough=enough) for type in MemoryType.values]


def type_agreement(annotated: AnnotatedSet, type: str, policy: WritePolicyParams, *, enough: bool) -> TypeAgreement:
    """One type against all others."""
    kappa = mean_kappa(annotated, lambda label: label.type == type) if enough else None
    stored = [memory for memory in annotated.memories if memory.type == type]
    agreed = sum(all(label.type == type for label in memory.labels.values()) for memory in stored)
    prior = float(getattr(policy, f"prior_{type.lower()}"))
    fitted = fit_prior(agreed / len(stored), policy) if len(stored) >= policy.annotated_each else None
    return TypeAgreement(type, kappa, policy.kappa_gate, len(stored), agreed, prior, fitted)


def fit_prior(agreement: float, policy: WritePolicyParams) -> float:
    """A type's prior, by the policy's logistic function of agreement."""
    prior = type_prior(
        agreement,
        low=policy.prior_lowest,
        span=policy.prior_span,
        steepness=policy.prior_steepness,
        midpoint=policy.prior_midpoint,
    )
    return round(prior, 4)


def mean_kappa(annotated: AnnotatedSet, label: Callable[[AnnotatorLabel], Hashable]) -> Kappa | None:
    """Mean kappa over pairs of annotators, each on the memories that both annotated.

    A pair that uses one label only has no kappa: it is counted and left out of the mean.
    """
    kappas: list[tuple[float, float, int]] = []  # kappa, standard error, memories
    for first, second in combinations(annotated.annotators, 2):
        common = [memory for memory in annotated.shared if first in memory.labels and second in memory.labels]
        if common:
            labels = annotator_labels(common, first, label), annotator_labels(common, second, label)
            kappas.append((cohens_kappa(*labels), kappa_standard_error(*labels), len(common)))
    defined = [kappa for kappa in kappas if not math.isnan(kappa[0])]
    if not defined:
        return None
    values, errors, counts = (np.array(column, dtype=float) for column in zip(*defined, strict=True))
    weights = counts / counts.sum()
    mean, margin = float(weights @ values), Z_95 * float(np.sqrt(weights**2 @ errors**2))
    low, high = max(mean - margin, -1.0), min(mean + margin, 1.0)
    return Kappa(mean, low, high, len(kappas), len(kappas) - len(defined))


def annotator_labels(
    memories: Sequence[AnnotatedMemory], annotator: str, label: Callable[[AnnotatorLabel], Hashable]
) -> list[Hashable]:
    """One annotator's labels of some memories."""
    return [label(memory.labels[annotator]) for memory in memories]
