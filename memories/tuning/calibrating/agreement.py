"""How far annotators agree, type by type, and the prior that follows from it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from memories.models.choices import MemoryType
from memories.tuning.calibrating.ground import Annotated, Ground, Word
from scoring.calibration import cohens_kappa, kappa_error, type_prior, valid
from scoring.policy import WritePolicy

WIDTH = 1.96  # standard errors to either side, for 95 %


class Kappa(NamedTuple):
    """Agreement beyond chance, with the interval it lies in."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TypeAgreement:
    """One type: whether annotators agree on what it is, and how often they agree with what was stored."""

    type: str
    kappa: Kappa | None  # none where too few share memories, or nobody gave the type
    gate: float
    stored: int  # annotated memories stored as this type
    agreed: int  # of them, those which every annotator calls so too
    prior: float  # that serves
    fitted: float | None  # none where too few are annotated

    @property
    def valid(self) -> bool:
        """Whether it passes the gate."""
        return self.kappa is not None and valid(self.kappa.value, self.gate)

    @property
    def share(self) -> float | None:
        """Agreement with what was stored."""
        return self.agreed / self.stored if self.stored else None

    @property
    def param(self) -> str:
        """The write parameter that holds its prior."""
        return f"prior_{self.type.lower()}"


def by_type(ground: Ground, policy: WritePolicy) -> list[TypeAgreement]:
    """Every type, against all others."""
    enough = len(ground.shared) >= policy.annotated_by_two
    return [of_type(ground, type, policy, enough=enough) for type in MemoryType.values]


def of_type(ground: Ground, type: str, policy: WritePolicy, *, enough: bool) -> TypeAgreement:
    """One type: kappa over “it is this” and “it is another”."""
    named = any(word.type == type for one in ground.shared for word in one.words.values())
    kappa = kappa_over(ground, lambda word: word.type == type) if enough and named else None
    stored = [one for one in ground.memories if one.type == type]
    agreed = sum(all(word.type == type for word in one.words.values()) for one in stored)
    prior = float(getattr(policy, f"prior_{type.lower()}"))
    fitted = fitted_prior(agreed / len(stored), policy) if len(stored) >= policy.annotated_each else None
    return TypeAgreement(type, kappa, policy.kappa_gate, len(stored), agreed, prior, fitted)


def fitted_prior(agreement: float, policy: WritePolicy) -> float:
    """A type's prior through the policy's own logistic."""
    found = type_prior(
        agreement,
        low=policy.prior_lowest,
        span=policy.prior_span,
        steepness=policy.prior_steepness,
        midpoint=policy.prior_midpoint,
    )
    return round(found, 4)


def kappa_over(ground: Ground, label: Callable[[Word], Hashable]) -> Kappa | None:
    """Kappa of what annotators say; of more than two the mean over pairs, each by the memories that both know."""
    known: list[tuple[float, float, int]] = []
    for one, other in combinations(ground.annotators, 2):
        both = [memory for memory in ground.shared if one in memory.words and other in memory.words]
        if both:
            labels = labels_of(both, one, label), labels_of(both, other, label)
            known.append((cohens_kappa(*labels), kappa_error(*labels), len(both)))
    if not known:
        return None
    values, errors, counts = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    weights = counts / counts.sum()
    middle, spread = float(weights @ values), WIDTH * float(np.sqrt(weights**2 @ errors**2))
    return Kappa(middle, max(middle - spread, -1.0), min(middle + spread, 1.0))


def labels_of(memories: Sequence[Annotated], annotator: str, label: Callable[[Word], Hashable]) -> list[Hashable]:
    """What one annotator says of some memories."""
    return [label(one.words[annotator]) for one in memories]
