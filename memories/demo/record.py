"""One memory of the demo as the evidence so far has left it, and every change that led there."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from memories.demo.world import Extractor, Memory
from memories.ids import derived
from memories.models.choices import Grounding, Status
from scoring import confidence as scoring_confidence
from scoring.belief import Belief, Evidence, update
from scoring.policy import WritePolicy
from scoring.signals import TYPES
from scoring.systems import recall
from scoring.term import Term, Tree

TICK = timedelta(milliseconds=1)


class Change(NamedTuple):
    """One change of a memory's columns, and its cause."""

    at: datetime
    cause: str
    before: dict[str, Any]
    after: dict[str, Any]
    parts: Tree
    other: UUID | None


@dataclass
class Record:
    """A memory's evidence, and the columns it amounts to."""

    memory: Memory
    policy: WritePolicy
    levels: set[str]
    extractor: Extractor
    penalty: float
    belief: Belief
    heard_in: set[str]
    backed_in: set[str]
    disputed_in: set[str] = field(default_factory=set)
    confirmed_at: datetime | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    @classmethod
    def of(cls, memory: Memory, policy: WritePolicy) -> "Record":
        """Begin with what the memory's own session says."""
        return cls(
            memory=memory,
            policy=policy,
            levels={source.level for source in memory.sources},
            extractor=memory.extractor,
            penalty=policy.grounding_penalty if memory.grounding == Grounding.PARTIAL else 0.0,
            belief=Belief(policy.belief_start, 0, 0),
            heard_in={memory.session},
            backed_in={memory.session},
        )

    @cached_property
    def id(self) -> UUID:
        """Give the memory's identifier."""
        return derived(self.memory.created_at, f"memory {self.memory.key}")

    @property
    def uncertain(self) -> bool:
        """Tell whether its type is none of the five."""
        return self.memory.type not in TYPES

    @property
    def active(self) -> bool:
        """Tell whether the memory holds."""
        return bool(self.columns.get("status") == Status.ACTIVE)

    @property
    def repetitions(self) -> int:
        """Count n: every other session that said it, and the user's confirmation."""
        return len(self.heard_in) - 1 + (self.confirmed_at is not None)

    @property
    def confidence(self) -> Term:
        """Weigh the evidence; even a confirmed memory stays below the cap."""
        whole = recall.confidence(
            self.policy,
            sources=sorted(self.levels),
            observations=self.repetitions,
            type=self.memory.type,
            model=self.extractor.model,
            logprobs=self.extractor.logprobs,
            penalty=self.penalty,
        )
        if self.confirmed_at is None:
            return whole
        return scoring_confidence.capped(whole, self.policy["confirmed_cap"]).named("confidence")

    def hear(self, session: str) -> None:
        """Count a session that said it; each backs it once."""
        self.heard_in.add(session)
        self.back(session)

    def back(self, session: str) -> None:
        """Let a session corroborate, unless it did before: one session is one source."""
        if session not in self.backed_in:
            self.backed_in.add(session)
            self._believe("corroboration")

    def dispute(self, session: str) -> None:
        """Let a session contradict, unless it did before."""
        if session not in self.disputed_in:
            self.disputed_in.add(session)
            self._believe("contradiction")

    def confirm(self, at: datetime) -> None:
        """Take the user's word: a source at the confirmed level, and no grounding doubt any more."""
        self.confirmed_at = at
        # The paper lifts s to .80, the strength of a confirmation as a source.
        self.levels.add("confirmation")
        self.penalty = 0.0

    def absorb(self, other: "Record") -> None:
        """Take in a memory that says the same: the stronger source, the surer extractor, the lesser doubt."""
        self.levels |= other.levels
        self.extractor = max(self.extractor, other.extractor, key=lambda one: certainty(one, self.policy))
        self.penalty = min(self.penalty, other.penalty)
        self.hear(other.memory.session)

    def settle(self, at: datetime, cause: str, other: UUID | None = None, **columns: Any) -> None:
        """Note what the evidence amounts to now, if that is anything new."""
        term = self.confidence
        columns = self._numbers(term) | columns
        after = {name: value for name, value in columns.items() if self.columns.get(name, self) != value}
        if not after:
            return
        before = {name: self.columns.get(name) for name in after} if self.changes else {}
        # Of two changes in one instant the second comes a tick later: within a millisecond ids fall by chance.
        at = max(at, self.changes[-1].at + TICK) if self.changes else at
        parts = term.tree() if "confidence" in after else {}
        self.changes.append(Change(at, cause, before, after, parts, other))
        self.columns |= after

    def _believe(self, evidence: Evidence) -> None:
        """Move the belief by one source."""
        policy = self.policy
        self.belief = update(
            self.belief,
            evidence,
            boost=policy.belief_boost,
            penalty=policy.belief_penalty,
            protected=policy.belief_protected,
            needed=policy.belief_needed,
        )

    def _numbers(self, confidence: Term) -> dict[str, Any]:
        """Name the columns that evidence moves."""
        logprobs = self.extractor.logprobs
        return {
            "source_strength": max(strength(level, self.policy) for level in self.levels),
            "repetitions": self.repetitions,
            "extractor_confidence": certainty(self.extractor, self.policy),
            "extractor_model": self.extractor.model,
            "extractor_logprob": sum(logprobs) / len(logprobs) if logprobs else None,
            "type_prior": getattr(self.policy, f"prior_{'unknown' if self.uncertain else self.memory.type.lower()}"),
            "grounding_penalty": self.penalty,
            "confidence": float(confidence.value),
            "confirmed_at": self.confirmed_at,
            "belief": self.belief.value,
            "corroborations": self.belief.corroborations,
            "contradictions": self.belief.contradictions,
        }


def strength(level: str, policy: WritePolicy) -> float:
    """Look up s of a source level."""
    return float(getattr(policy, f"source_{level}"))


def certainty(extractor: Extractor, policy: WritePolicy) -> float:
    """Find e: of the token probabilities where they are known, else of the model."""
    if extractor.logprobs:
        return scoring_confidence.extractor_confidence(extractor.logprobs)
    return float(getattr(policy, f"extractor_{scoring_confidence.extractor_class(extractor.model)}"))
