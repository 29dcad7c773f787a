"""Evidence for a memory: categorical observations, which the write policy turns into confidence signals."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from scoring.confidence import confirmed_source_strength, extractor_class, repetition
from scoring.dedup import merged_repetitions
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES
from scoring.term import Term, feature

Grounding = Literal["supported", "partial", "unsupported"]


@dataclass(frozen=True)
class Evidence:
    """Source levels, repetitions, extractor and grounding of a memory."""

    levels: frozenset[str] = frozenset()
    repetitions: int = 0
    type: str = ""
    model: str = ""
    logprob: float | None = None  # mean over the extracted tokens
    grounding: Grounding = "supported"
    confirmed: bool = False
    absorbed: frozenset[str] = frozenset()  # types of merged memories


def source_signal(evidence: Evidence, policy: WritePolicyParams) -> Term:
    """s: the strongest source level; a confirmation raises it."""
    levels = evidence.levels or {policy.source_default}
    strongest = policy[max((f"source_{level}" for level in sorted(levels)), key=lambda name: float(policy[name].value))]
    return confirmed_source_strength(strongest, policy["confirmed_level"]) if evidence.confirmed else strongest


def repetition_signal(evidence: Evidence) -> Term:
    """r: saturating function of the repetitions."""
    return repetition(feature("observations", np.asarray(float(evidence.repetitions)))).with_name("repetition")


def extractor_signal(evidence: Evidence, policy: WritePolicyParams) -> Term:
    """e: the mean token probability if known, else the value of the model's class."""
    if evidence.logprob is not None:
        return feature("mean token probability", np.exp(np.asarray(evidence.logprob)))
    return policy[f"extractor_{extractor_class(evidence.model)}"]


def prior_signal(evidence: Evidence, policy: WritePolicyParams) -> Term:
    """t: the prior of the memory's type, or of an absorbed type if that is higher."""
    types = [evidence.type, *sorted(evidence.absorbed)]
    priors = [policy[f"prior_{type.lower() if type in TYPES else 'unknown'}"] for type in types]
    return max(priors, key=lambda prior: float(prior.value))


def observe_again(evidence: Evidence) -> Evidence:
    """Count one more observation, from another source or session."""
    return replace(evidence, repetitions=evidence.repetitions + 1)


def confirm_evidence(evidence: Evidence) -> Evidence:
    """Apply a user's confirmation: one more observation, and full grounding."""
    return replace(observe_again(evidence), grounding="supported", confirmed=True)


def merge_evidence(one: Evidence, other: Evidence, policy: WritePolicyParams) -> Evidence:
    """Merge the evidence of a duplicate into the first memory: the stronger of each signal, so none decreases.

    >>> haiku, opus = (Evidence(type="Fact", model=model) for model in ("haiku", "opus"))
    >>> merge_evidence(haiku, opus, WritePolicyParams()).model
    'opus'
    """
    stronger = max((one, other), key=lambda evidence: float(extractor_signal(evidence, policy).value))
    verdicts: tuple[Grounding, ...] = ("supported", "partial", "unsupported")
    return Evidence(
        levels=frozenset(level for evidence in (one, other) for level in evidence.levels or (policy.source_default,)),
        repetitions=merged_repetitions(one.repetitions, other.repetitions),
        type=one.type,
        model=stronger.model,
        logprob=stronger.logprob,
        grounding=min(one.grounding, other.grounding, key=verdicts.index),
        confirmed=one.confirmed or other.confirmed,
        absorbed=(one.absorbed | other.absorbed | {other.type}) - {one.type},
    )
