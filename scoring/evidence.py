"""The evidence a memory stands on, in the words it came in; a policy turns the words into numbers."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from scoring.confidence import confirmed as at_confirmed_level
from scoring.confidence import extractor_class, repetition
from scoring.dedup import merged_repetitions
from scoring.policy import WritePolicy
from scoring.signals import TYPES
from scoring.term import Term, given

Grounding = Literal["supported", "partial", "unsupported"]


@dataclass(frozen=True)
class Evidence:
    """How directly, how often and by whom a memory was heard, and how far its source bears it out."""

    levels: frozenset[str] = frozenset()
    repetitions: int = 0
    type: str = ""
    model: str = ""
    logprob: float | None = None  # mean over the extracted tokens
    grounding: Grounding = "supported"
    confirmed: bool = False
    absorbed: frozenset[str] = frozenset()  # other types under which the same was told


def source(evidence: Evidence, policy: WritePolicy) -> Term:
    """s: the most strongly stated of the turns; a confirmation lifts it."""
    levels = evidence.levels or {policy.source_default}
    strongest = policy[max((f"source_{level}" for level in sorted(levels)), key=lambda name: float(policy[name].value))]
    return at_confirmed_level(strongest, policy["confirmed_level"]) if evidence.confirmed else strongest


def repeated(evidence: Evidence) -> Term:
    """r: how often it was said again."""
    return repetition(given("observations", np.asarray(float(evidence.repetitions)))).named("repetition")


def extractor(evidence: Evidence, policy: WritePolicy) -> Term:
    """e: the mean token probability where it is known, else the row of the model's class."""
    if evidence.logprob is not None:
        return given("mean token probability", np.exp(np.asarray(evidence.logprob)))
    return policy[f"extractor_{extractor_class(evidence.model)}"]


def prior(evidence: Evidence, policy: WritePolicy) -> Term:
    """t: the baseline of the memory's type, or of one that it absorbed where that is higher."""
    types = [evidence.type, *sorted(evidence.absorbed)]
    priors = [policy[f"prior_{type.lower() if type in TYPES else 'unknown'}"] for type in types]
    return max(priors, key=lambda one: float(one.value))


def observed(evidence: Evidence) -> Evidence:
    """The same memory, heard once more from another source or session."""
    return replace(evidence, repetitions=evidence.repetitions + 1)


def confirmed(evidence: Evidence) -> Evidence:
    """The user says that it is so: one observation more, and no grounding doubt any longer."""
    return replace(observed(evidence), grounding="supported", confirmed=True)


def merged(one: Evidence, other: Evidence, policy: WritePolicy) -> Evidence:
    """Two memories that say the same, of which the first is kept: of each signal the stronger, so that none falls.

    >>> merged(Evidence(type="Fact", model="haiku"), Evidence(type="Fact", model="opus"), WritePolicy()).model
    'opus'
    """
    surer = max((one, other), key=lambda each: float(extractor(each, policy).value))
    doubts: tuple[Grounding, ...] = ("supported", "partial", "unsupported")
    return Evidence(
        levels=frozenset(level for each in (one, other) for level in each.levels or (policy.source_default,)),
        repetitions=merged_repetitions(one.repetitions, other.repetitions),
        type=one.type,
        model=surer.model,
        logprob=surer.logprob,
        grounding=min(one.grounding, other.grounding, key=doubts.index),
        confirmed=one.confirmed or other.confirmed,
        absorbed=(one.absorbed | other.absorbed | {other.type}) - {one.type},
    )
