"""A stored memory with the evidence it stands on, and what further evidence does to it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Self
from uuid import UUID

import numpy as np

from memories.models import Memory, Namespace, ScoreEvent
from memories.writing.copying import Repeated
from memories.writing.sources import levels_of
from scoring import belief as beliefs
from scoring import evidence as heard
from scoring.belief import Belief
from scoring.confidence import utility
from scoring.evidence import Evidence
from scoring.policy import WritePolicy
from scoring.systems import recall
from scoring.term import Term, Tree, const, given

# An observation is told apart by its session, or by its source where there is no session.
Origin = tuple[UUID | None, str]


@dataclass
class Standing:
    """A memory, its evidence, and the events that its changes leave."""

    memory: Memory
    evidence: Evidence
    policy: WritePolicy
    origins: set[Origin]
    entities: set[UUID]
    events: list[ScoreEvent] = field(default_factory=list)
    told: dict[str, Any] = field(init=False)  # the columns as history knows them
    explained: Tree = field(default_factory=dict)  # how the confidence came about
    believed: Term | None = None  # how the belief came about since the last event

    def __post_init__(self) -> None:
        self.told = {} if self.memory._state.adding else self.columns()

    def hear(self, origin: Origin, said: Evidence) -> bool:
        """Take the stronger of each signal, count it once for a session or source; tell whether it counted."""
        counts = origin not in self.origins
        self.origins.add(origin)
        together = heard.merged(self.evidence, said, self.policy)
        # The text that is kept is this memory's, and so is its type; a repeated text is one observation more.
        self.evidence = replace(together, repetitions=self.evidence.repetitions + counts, type=self.evidence.type)
        if counts:
            self._believe("corroboration")
        return counts

    def corroborated(self) -> None:
        """Another memory of another origin supports this one."""
        self._believe("corroboration")

    def contradicted(self) -> None:
        """Another memory says otherwise."""
        self._believe("contradiction")

    def _believe(self, sign: beliefs.Evidence) -> None:
        before = Belief(self.memory.belief, self.memory.corroborations, self.memory.contradictions)
        policy = self.policy
        after = beliefs.update(
            before,
            sign,
            boost=policy.belief_boost,
            penalty=policy.belief_penalty,
            protected=policy.belief_protected,
            needed=policy.belief_needed,
        )
        self.memory.belief, self.memory.corroborations, self.memory.contradictions = after
        self._explain(before, sign, after)

    def _explain(self, before: Belief, sign: beliefs.Evidence, after: Belief) -> None:
        """Write down the step: the same formula over terms, after those that no event has told of yet."""
        policy = self.policy
        step = policy["belief_boost"] if sign == "corroboration" else -policy["belief_penalty"]
        open_to = after.corroborations >= policy.belief_needed
        ceiling = const(beliefs.HIGHEST) if open_to else policy["belief_protected"]
        start = self.believed or given("belief before", np.asarray(before.value))
        self.believed = beliefs.moved(start, step, ceiling).named("belief")

    def settle(self, at: datetime, cause: str, by: str, other: UUID | None = None, **columns: Any) -> None:
        """Write what the evidence amounts to into the memory, and note the change as an event."""
        numbers, self.explained = weighed(self.evidence, self.policy)
        for name, value in {**numbers, **columns}.items():
            setattr(self.memory, name, value)
        after = self.columns()
        before, self.told = self.told, after
        believed, self.believed = self.believed, None
        changed = {name: value for name, value in after.items() if before.get(name, self) != value}
        if not changed:
            return
        self.events.append(
            ScoreEvent(
                namespace_id=self.memory.namespace_id,
                memory_id=self.memory.id,
                at=at,
                cause=cause,
                before={name: plain(before[name]) for name in changed if name in before},
                after={name: plain(value) for name, value in changed.items()},
                parts=self._parts(changed, believed) if before else begun(self.evidence, self.policy),
                other_id=other,
                by=by,
            )
        )

    def _parts(self, changed: Collection[str], believed: Term | None) -> Tree:
        """How the numbers that changed came about: confidence first, belief beside it, else belief or utility."""
        told: Tree = self.explained if "confidence" in changed else {}
        if believed is not None and "belief" in changed:
            return {**told, "belief": believed.tree()} if told else believed.tree()
        if not told and ("useful" in changed or "not_useful" in changed):
            counts = (given(name, np.asarray(float(getattr(self.memory, name)))) for name in ("useful", "not_useful"))
            return utility(*counts).named("utility").tree()
        return told

    @property
    def scores(self) -> dict[str, Tree]:
        """How each score beside the confidence came about, as its events tell it; what none has moved was given."""
        told = {name: getattr(self.memory, name) for name in ("belief", "importance", "quality", "memory_score")}
        trees = {name: given(name, np.asarray(value)).tree() for name, value in told.items() if value is not None}
        for event in self.events:
            for tree in (event.parts, event.parts.get("belief", {})):
                if tree.get("name") in ("belief", "utility"):
                    trees[tree["name"]] = tree
        return trees

    def columns(self) -> dict[str, Any]:
        """The columns whose changes make history."""
        return dict(zip(HISTORY, _history(self.memory), strict=True))

    @classmethod
    def of(cls, memory: Memory, levels: Iterable[str], policy: WritePolicy) -> Self:
        """Read a stored memory's evidence back from its rows."""
        origins = {(one.session_id, one.source) for one in memory.sources.all()}
        entities = {mention.entity_id for mention in memory.mentions.all()}
        return cls(memory, evidence_of(memory, levels), policy, origins, entities)


def evidence_of(memory: Any, levels: Iterable[str]) -> Evidence:
    """The evidence that a memory's columns and the levels at which it was said tell of."""
    return Evidence(
        levels=frozenset(levels),
        repetitions=memory.repetitions,
        type="" if memory.type_uncertain else memory.type,
        model=memory.extractor_model,
        logprob=memory.extractor_logprob,
        grounding=memory.grounding,
        confirmed=memory.confirmed_at is not None,
    )


TRACKED = (
    "confidence",
    "source_strength",
    "repetitions",
    "extractor_confidence",
    "extractor_model",
    "extractor_logprob",
    "type_prior",
    "grounding",
    "grounding_penalty",
    "belief",
    "corroborations",
    "contradictions",
    "useful",
    "not_useful",
    "status",
    "reason",
)
# What the caller says of a memory; evidence never moves it.
GIVEN = (
    "kind",
    "importance",
    "quality",
    "memory_score",
    "event_at",
    "event_until",
    "valid_from",
    "valid_until",
)


HISTORY = (*TRACKED, *GIVEN)
_history = attrgetter(*HISTORY)


def plain(value: Any) -> Any:
    """A column as history tells it."""
    return value.isoformat() if isinstance(value, datetime) else value


@lru_cache(maxsize=1024)
def weighed(evidence: Evidence, policy: WritePolicy) -> tuple[dict[str, Any], Tree]:
    """The columns that evidence moves, and how the confidence among them came about; much evidence is alike."""
    confidence = recall.confidence(evidence, policy)
    columns = {
        "source_strength": float(heard.source(evidence, policy).value),
        "repetitions": evidence.repetitions,
        "extractor_confidence": float(heard.extractor(evidence, policy).value),
        "extractor_model": evidence.model,
        "extractor_logprob": evidence.logprob,
        "type_prior": float(heard.prior(evidence, policy).value),
        "grounding": evidence.grounding,
        "grounding_penalty": policy.grounding_penalty if evidence.grounding == "partial" else 0.0,
        "confidence": float(confidence.value),
    }
    return columns, Repeated(confidence.tree())


@lru_cache(maxsize=1024)
def begun(evidence: Evidence, policy: WritePolicy) -> Tree:
    """How the first numbers of a memory came about: its confidence, and beside it the belief that all begin with."""
    return Repeated({**weighed(evidence, policy)[1], "belief": policy["belief_start"].named("belief").tree()})


def loaded(namespace: Namespace, ids: Iterable[UUID], policy: WritePolicy) -> dict[UUID, Standing]:
    """The standings of stored memories, four questions for all of them."""
    wanted = set(ids)
    memories = Memory.objects.within(namespace).filter(id__in=wanted).prefetch_related("sources", "mentions")
    levels = levels_of(namespace, wanted)
    return {memory.id: Standing.of(memory, levels.get(memory.id, ()), policy) for memory in memories}
