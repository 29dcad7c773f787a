"""The ground of a calibration: annotated memories, their signals, and what each annotator said."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.models import Annotation, Namespace
from memories.models.choices import Grounding, Status
from scoring.confidence import capped, confidence, grounded, repetition
from scoring.policy import WritePolicy
from scoring.term import Array

MOST = 5_000  # annotations that count, the newest
SIGNALS = ("source", "repetition", "extractor", "prior")
WEIGHTS = tuple(f"weight_{name}" for name in SIGNALS)
COLUMNS = ("source_strength", "repetitions", "extractor_confidence", "type_prior", "grounding", "confirmed_at")


class Word(NamedTuple):
    """What one annotator said of a memory."""

    type: str
    right: bool
    confidence: float


class Annotated(NamedTuple):
    """A memory as it is stored, and what was said of it, by annotator."""

    id: UUID
    type: str  # none where it is uncertain
    counts: tuple[float, float, float, float]  # its signals, the repetitions as a number
    partial: bool
    confirmed: bool
    words: dict[str, Word]


@dataclass(frozen=True)
class Ground:
    """All that was annotated, as arrays: one row a memory."""

    memories: Sequence[Annotated]

    @cached_property
    def annotators(self) -> list[str]:
        """Everybody who annotated, by name."""
        return sorted({name for one in self.memories for name in one.words})

    @cached_property
    def shared(self) -> list[Annotated]:
        """The memories on which at least two have spoken."""
        return [one for one in self.memories if len(one.words) > 1]

    @cached_property
    def signals(self) -> Array:
        """The four signals, a column each."""
        source, repetitions, extractor, prior = (
            np.array([one.counts for one in self.memories], dtype=float).reshape(-1, len(SIGNALS)).T
        )
        return np.column_stack([source, repetition(repetitions), extractor, prior])

    @cached_property
    def rated(self) -> Array:
        """The confidence that annotators would give, on average."""
        return self._mean("confidence")

    @cached_property
    def right(self) -> Array:
        """The share of annotators who find it right."""
        return self._mean("right")

    @cached_property
    def held_out(self) -> NDArray[np.bool_]:
        """Which memories are kept back to check: half of them, by their ids alone, so that none ever changes sides."""
        return np.array([hashlib.sha256(one.id.bytes).digest()[0] % 2 == 1 for one in self.memories], dtype=bool)

    def trusted(self, weights: Mapping[str, float], policy: WritePolicy) -> Array:
        """The confidence that the formula gives with some weights."""
        columns = dict(zip(SIGNALS, self.signals.T, strict=True))
        whole = confidence(columns, {name: np.asarray(weights[f"weight_{name}"]) for name in SIGNALS})
        whole = np.where(self._flags("partial"), grounded(whole, policy.grounding_penalty), whole)
        return np.asarray(np.where(self._flags("confirmed"), capped(whole, policy.confirmed_cap), whole))

    def wanted(self, policy: WritePolicy) -> Array:
        """What the weighted signals should come to: what grounding takes away afterwards is added first."""
        return np.asarray(self.rated + self._flags("partial") * policy.grounding_penalty)

    def _mean(self, name: str) -> Array:
        said = [[getattr(word, name) for word in one.words.values()] for one in self.memories]
        return np.array([sum(some) / len(some) for some in said], dtype=float)

    def _flags(self, name: str) -> NDArray[np.bool_]:
        return np.array([getattr(one, name) for one in self.memories], dtype=bool)


def ground(namespace: Namespace) -> Ground:
    """What was annotated of memories that nobody has forgotten, in one question."""
    told = Annotation.objects.within(namespace).exclude(memory__status=Status.FORGOTTEN)
    rows = told.order_by("-created_at", "id").values(
        *("memory_id", "annotator", "type", "right", "confidence", "memory__type", "memory__type_uncertain"),
        *(f"memory__{name}" for name in COLUMNS),
    )[:MOST]
    found: dict[UUID, Annotated] = {}
    for row in rows:
        source, repetitions, extractor, prior, grounding, confirmed_at = (row[f"memory__{name}"] for name in COLUMNS)
        one = Annotated(
            row["memory_id"],
            "" if row["memory__type_uncertain"] else row["memory__type"],
            (source, repetitions, extractor, prior),
            grounding == Grounding.PARTIAL,
            confirmed_at is not None,
            {},
        )
        found.setdefault(one.id, one).words[row["annotator"]] = Word(row["type"], row["right"], row["confidence"])
    return Ground(sorted(found.values(), key=lambda one: one.id))
