"""A memory as it comes in, checked but not yet weighed."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models.choices import Kind
from scoring.confidence import extractor_confidence
from scoring.evidence import Evidence, Grounding
from scoring.signals import TYPES


@dataclass(frozen=True)
class Said:
    """One utterance that says it: the turn, where there is one, and how directly, where that is told."""

    level: str
    turn: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class NewMemory:
    """What a caller asks to be remembered."""

    content: str
    type: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    said: tuple[Said, ...] = ()
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
    def uncertain(self) -> bool:
        """Whether the given type is none of the five, so that it counts as a Fact."""
        return self.type not in TYPES

    def heard(self, grounding: Grounding) -> Evidence:
        """The evidence it starts with."""
        return Evidence(
            levels=frozenset(said.level for said in self.said if said.level),
            type=self.type,
            model=self.model,
            logprob=mean_logprob(self.logprobs) if self.logprobs else None,
            grounding=grounding,
        )


def mean_logprob(logprobs: tuple[float, ...]) -> float:
    """The mean log-probability; what is no log-probability is refused."""
    extractor_confidence(logprobs)
    return sum(logprobs) / len(logprobs)
