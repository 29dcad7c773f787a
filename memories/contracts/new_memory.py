"""A memory as submitted: validated, not scored."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models.choices import Kind
from scoring.confidence import extractor_confidence
from scoring.evidence import Evidence, Grounding
from scoring.signals import TYPES


@dataclass(frozen=True)
class Utterance:
    """One utterance that states a memory: its turn, if any, and its source level, if given."""

    level: str
    turn: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class NewMemory:
    """A memory a caller wants stored."""

    content: str
    type: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    utterances: tuple[Utterance, ...] = ()
    model: str = ""
    logprobs: tuple[float, ...] = ()
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kind: str = Kind.GENERAL
    user: str = ""
    agent: str = ""
    session: str = ""
    source: str = ""
    evidence: str = ""
    importance: float = 0.5
    quality: float = 0.5
    memory_score: float | None = None
    provenance_depth: int = 0
    created_at: datetime | None = None
    happened_at: datetime | None = None
    event_at: datetime | None = None
    event_until: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def type_uncertain(self) -> bool:
        """Whether the type is unknown and defaults to Fact."""
        return self.type not in TYPES

    def initial_evidence(self, grounding: Grounding) -> Evidence:
        """The evidence it starts with."""
        return Evidence(
            levels=frozenset(utterance.level for utterance in self.utterances if utterance.level),
            type=self.type,
            model=self.model,
            logprob=mean_logprob(self.logprobs) if self.logprobs else None,
            grounding=grounding,
        )


def mean_logprob(logprobs: tuple[float, ...]) -> float:
    """The mean log-probability (ValueError if one is positive)."""
    extractor_confidence(logprobs)  # validates
    return sum(logprobs) / len(logprobs)
