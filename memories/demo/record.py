"""One memory of the demo as the evidence so far has left it, and every change that led there."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from statistics import fmean as mean
from typing import Any, NamedTuple
from uuid import UUID

from memories.demo.world import Memory
from memories.ids import derived
from memories.models.choices import Grounding, Status
from scoring.belief import Belief, update
from scoring.belief import Evidence as Sign
from scoring.evidence import Evidence, confirmed, extractor, merged, observed, prior, source
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
    evidence: Evidence
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
            evidence=Evidence(
                levels=frozenset(source.level for source in memory.sources),
                type=memory.type,
                model=memory.extractor.model,
                logprob=mean(memory.extractor.logprobs) if memory.extractor.logprobs else None,
                grounding="partial" if memory.grounding == Grounding.PARTIAL else "supported",
            ),
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
    def confidence(self) -> Term:
        """Weigh the evidence."""
        return recall.confidence(self.evidence, self.policy)

    def hear(self, session: str) -> None:
        """Count a session that said it; each counts, and backs it, once."""
        if session not in self.heard_in:
            self.heard_in.add(session)
            self.evidence = observed(self.evidence)
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
        """Take the user's word."""
        self.confirmed_at = at
        self.evidence = confirmed(self.evidence)

    def absorb(self, other: "Record") -> None:
        """Take in a memory that says the same; its session counts once, like any other."""
        both = merged(self.evidence, other.evidence, self.policy)
        # The type stays: it is the survivor's text that is kept.
        self.evidence = replace(both, repetitions=self.evidence.repetitions, type=self.evidence.type)
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

    def _believe(self, sign: Sign) -> None:
        """Move the belief by one source."""
        policy = self.policy
        self.belief = update(
            self.belief,
            sign,
            boost=policy.belief_boost,
            penalty=policy.belief_penalty,
            protected=policy.belief_protected,
            needed=policy.belief_needed,
        )

    def _numbers(self, confidence: Term) -> dict[str, Any]:
        """Name the columns that evidence moves."""
        heard, policy = self.evidence, self.policy
        return {
            "source_strength": float(source(heard, policy).value),
            "repetitions": heard.repetitions,
            "extractor_confidence": float(extractor(heard, policy).value),
            "extractor_model": heard.model,
            "extractor_logprob": heard.logprob,
            "type_prior": float(prior(heard, policy).value),
            "grounding_penalty": policy.grounding_penalty if heard.grounding == "partial" else 0.0,
            "confidence": float(confidence.value),
            "confirmed_at": self.confirmed_at,
            "belief": self.belief.value,
            "corroborations": self.belief.corroborations,
            "contradictions": self.belief.contradictions,
        }


def strength(level: str, policy: WritePolicy) -> float:
    """Look up s of a source level."""
    return float(getattr(policy, f"source_{level}"))
