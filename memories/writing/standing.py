"""A stored memory with the evidence it stands on, and what further evidence does to it."""

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any, Self
from uuid import UUID

import numpy as np

from memories.models import Memory, Namespace, ScoreEvent
from memories.writing.copying import Repeated
from memories.writing.sources import Origin, Told, backers_of, told_of
from scoring import belief as beliefs
from scoring import evidence as heard
from scoring.belief import Belief
from scoring.confidence import utility
from scoring.evidence import Evidence
from scoring.policy import WritePolicy
from scoring.systems import recall
from scoring.term import Term, Tree, const, given


@dataclass
class Standing:
    """A memory, its evidence, and the events that its changes leave."""

    memory: Memory
    evidence: Evidence
    policy: WritePolicy
    origins: set[Origin]
    entities: set[UUID]
    backers: set[Origin] = field(default_factory=set)  # origins of other memories that count for this one
    events: list[ScoreEvent] = field(default_factory=list)
    told: dict[str, Any] = field(init=False)  # the columns as history knows them
    explained: Tree = field(default_factory=dict)  # how the confidence came about
    believed: Term | None = None  # how the belief came about since the last event

    def __post_init__(self) -> None:
        self.told = {} if self.memory._state.adding else self.columns()

    def hear(self, origins: Set[Origin], said: Evidence, beyond: int = 0) -> bool:
        """Take the stronger of each signal, and count what is new: sessions and sources, and what stands beyond them.

        A session or source that counts for it in other words already is believed no further. Tell whether any is new.
        """
        fresh = origins - self.origins
        self.origins |= fresh
        together = heard.merged(self.evidence, said, self.policy)
        self.evidence = replace(together, repetitions=self.evidence.repetitions + len(fresh) + beyond)
        for _ in fresh - self.backers:
            self._believe("corroboration")
        return bool(fresh)

    def corroborated(self, origins: Set[Origin]) -> None:
        """Another memory supports this one, from where nothing has counted for it yet."""
        for _ in origins:
            self._believe("corroboration")
        self.backers |= origins

    def independent(self, origins: Set[Origin]) -> Set[Origin]:
        """Those of some origins that have not counted for this memory."""
        return origins - self.origins - self.backers

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
        # After the steps that no event has told of yet.
        start = self.believed or given("belief before", np.asarray(before.value))
        self.believed = stepped(start, sign, after.corroborations, policy)

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
    def of(cls, memory: Memory, told: Told, backers: set[Origin], policy: WritePolicy) -> Self:
        """Read a stored memory's evidence back from its rows."""
        origins = {(one.session_id, one.source) for one in memory.sources.all()}
        entities = {mention.entity_id for mention in memory.mentions.all()}
        return cls(memory, evidence_of(memory, told), policy, origins, entities, backers)


def stepped(belief: Term, sign: beliefs.Evidence, corroborations: int, policy: WritePolicy) -> Term:
    """One step of belief over terms; the corroborations are those there are after it."""
    step = policy["belief_boost"] if sign == "corroboration" else -policy["belief_penalty"]
    open_to = corroborations >= policy.belief_needed
    ceiling = const(beliefs.HIGHEST) if open_to else policy["belief_protected"]
    return beliefs.moved(belief, step, ceiling).named("belief")


def evidence_of(memory: Any, told: Told) -> Evidence:
    """The evidence that a memory's columns tell of, and how it was told."""
    type = "" if memory.type_uncertain else memory.type
    return Evidence(
        levels=told.levels,
        repetitions=memory.repetitions,
        type=type,
        absorbed=told.types - {type},
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
    """The standings of stored memories, five questions for all of them."""
    wanted = set(ids)
    if not wanted:
        return {}
    memories = Memory.objects.within(namespace).filter(id__in=wanted).prefetch_related("sources", "mentions")
    told, backers = told_of(namespace, wanted), backers_of(namespace, wanted)
    return {one.id: Standing.of(one, told[one.id], backers.get(one.id, set()), policy) for one in memories}
