"""Annotated memories as arrays: their signals and every annotator's labels."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.models import Annotation, Namespace
from memories.models.choices import Grounding, Status
from scoring.confidence import capped_confidence, grounded_confidence, repetition, weighted_confidence
from scoring.policy import WritePolicyParams
from scoring.term import Array

MAX_ANNOTATIONS = 5_000  # newest annotations used
SIGNALS = ("source", "repetition", "extractor", "prior")
WEIGHTS = tuple(f"weight_{name}" for name in SIGNALS)
COLUMNS = ("source_strength", "repetitions", "extractor_confidence", "type_prior", "grounding", "confirmed_at")


class AnnotatorLabel(NamedTuple):
    """One annotator's labels of a memory."""

    type: str
    right: bool
    confidence: float
    domain: str = ""


class AnnotatedMemory(NamedTuple):
    """A stored memory and its labels by annotator."""

    id: UUID
    type: str  # empty if uncertain
    raw_signals: tuple[float, float, float, float]  # repetitions as a count
    partial: bool
    confirmed: bool
    labels: dict[str, AnnotatorLabel]


@dataclass(frozen=True)
class AnnotatedSet:
    """All annotated memories, one row each."""

    memories: Sequence[AnnotatedMemory]

    @cached_property
    def annotators(self) -> list[str]:
        """The annotators, sorted."""
        return sorted({name for memory in self.memories for name in memory.labels})

    @cached_property
    def domains(self) -> list[str]:
        """The domains that labels carry, the most annotated first."""
        counts = Counter(label.domain for memory in self.memories for label in memory.labels.values() if label.domain)
        return sorted(counts, key=lambda domain: (-counts[domain], domain))

    def of_domain(self, domain: str) -> "AnnotatedSet":
        """The memories that carry labels of a domain, with these labels alone."""
        splits = (
            memory._replace(labels={name: label for name, label in memory.labels.items() if label.domain == domain})
            for memory in self.memories
        )
        return AnnotatedSet([memory for memory in splits if memory.labels])

    @cached_property
    def shared(self) -> list[AnnotatedMemory]:
        """The memories that at least two annotated."""
        return [memory for memory in self.memories if len(memory.labels) > 1]

    @cached_property
    def signals(self) -> Array:
        """The four confidence signals, one column each."""
        source, repetitions, extractor, prior = (
            np.array([memory.raw_signals for memory in self.memories], dtype=float).reshape(-1, len(SIGNALS)).T
        )
        return np.column_stack([source, repetition(repetitions), extractor, prior])

    @cached_property
    def mean_confidence(self) -> Array:
        """The mean confidence given by annotators."""
        return self._mean("confidence")

    @cached_property
    def right_share(self) -> Array:
        """The share of annotators who call it correct."""
        return self._mean("right")

    @cached_property
    def held_out(self) -> NDArray[np.bool_]:
        """Which memories are held out from the fit: half of them, by a hash of their ids."""
        return np.array([hashlib.sha256(memory.id.bytes).digest()[0] % 2 == 1 for memory in self.memories], dtype=bool)

    def predicted_confidence(self, weights: Mapping[str, float], policy: WritePolicyParams) -> Array:
        """The confidence by the formula under some weights."""
        columns = dict(zip(SIGNALS, self.signals.T, strict=True))
        confidence = weighted_confidence(columns, {name: np.asarray(weights[f"weight_{name}"]) for name in SIGNALS})
        confidence = np.where(
            self._flags("partial"), grounded_confidence(confidence, policy.grounding_penalty), confidence
        )
        return np.asarray(
            np.where(self._flags("confirmed"), capped_confidence(confidence, policy.confirmed_cap), confidence)
        )

    def fit_target(self, policy: WritePolicyParams) -> Array:
        """The target of the weighted signals: mean confidence with the grounding penalty undone."""
        return np.asarray(self.mean_confidence + self._flags("partial") * policy.grounding_penalty)

    def _mean(self, name: str) -> Array:
        values = [[getattr(label, name) for label in memory.labels.values()] for memory in self.memories]
        return np.array([sum(by_annotator) / len(by_annotator) for by_annotator in values], dtype=float)

    def _flags(self, name: str) -> NDArray[np.bool_]:
        return np.array([getattr(memory, name) for memory in self.memories], dtype=bool)


def load_annotated_set(namespace: Namespace) -> AnnotatedSet:
    """The annotations of memories that are not forgotten, by one SQL query."""
    annotations = Annotation.objects.within(namespace).exclude(memory__status=Status.FORGOTTEN)
    rows = annotations.order_by("-created_at", "id").values(
        *("memory_id", "annotator", "type", "right", "confidence", "domain", "memory__type", "memory__type_uncertain"),
        *(f"memory__{name}" for name in COLUMNS),
    )[:MAX_ANNOTATIONS]
    by_id: dict[UUID, AnnotatedMemory] = {}
    for row in rows:
        source, repetitions, extractor, prior, grounding, confirmed_at = (row[f"memory__{name}"] for name in COLUMNS)
        memory = AnnotatedMemory(
            row["memory_id"],
            "" if row["memory__type_uncertain"] else row["memory__type"],
            (source, repetitions, extractor, prior),
            grounding == Grounding.PARTIAL,
            confirmed_at is not None,
            {},
        )
        by_id.setdefault(memory.id, memory).labels[row["annotator"]] = AnnotatorLabel(
            row["type"], row["right"], row["confidence"], row["domain"]
        )
    return AnnotatedSet(sorted(by_id.values(), key=lambda memory: memory.id))
