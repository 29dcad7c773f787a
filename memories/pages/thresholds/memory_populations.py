"""Memories that thresholds decide on: filtered or not, at the freshness floor, rejected, capped, believed."""

from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from django.db.models import Q

from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import STATEMENTS, ChunkLevel, Grounding, Status
from memories.models.keys import NamespacedQuerySet
from memories.pages.thresholds.populations import (
    Counted,
    DecisionLabels,
    NothingToCount,
    Population,
    Values,
    cached_population,
    cached_until_write,
    label_if,
)
from memories.retrieval.candidates import DAY
from memories.retrieval.query import Config
from memories.writing.belief_history import replay_belief
from memories.writing.evidence import evidence_columns, evidence_from_columns, source_summaries
from memories.writing.recompute import score_histories
from scoring.belief import is_protected
from scoring.evidence import Evidence
from scoring.policy import WritePolicyParams
from scoring.signals import TYPES, Signals
from scoring.systems.recall import FreshnessParams, recall_freshness, rejection_reason

MAX_SCORED = 100_000  # memories filtered or aged, the newest
MAX_WITH_EVIDENCE = 2_000  # memories whose evidence or history is read, the newest
BELIEF_NAMES = ("protected", "to archive")
BELIEF_LABELS = DecisionLabels(
    BELIEF_NAMES, lambda decision: [name for name, holds in zip(BELIEF_NAMES, decision[1:], strict=True) if holds]
)


class ScoredMemories(NamedTuple):
    """The newest memories that a retrieval may return, as signals, and how many there are."""

    signals: Signals
    total: int


@cached_population
def filtered_memories(namespace: Namespace, start: Config) -> Counted:
    """Memories by whether the confidence gate filters them."""
    scored = scored_memories(namespace)
    params_type, gates = start.system.params, start.system.gates
    if not scored.total:
        return NothingToCount("No memory is stored here.", "Write some over the API", "docs")

    def decide(values: Values) -> list[bool]:
        passed = gates(scored.signals, params_type.of(values)).get("low_confidence")
        return [False] * len(scored.signals) if passed is None else np.logical_not(passed).tolist()

    return memory_population(len(scored.signals), scored.total, decide, label_if("filtered"))


@cached_population
def aged_memories(namespace: Namespace, start: Config) -> Counted:
    """Memories by their freshness today."""
    scored = scored_memories(namespace)
    params_type = start.system.params
    if not scored.total:
        return NothingToCount("No memory is stored here.", "Write some over the API", "docs")

    def decide(values: Values) -> list[tuple[float, bool]]:
        params = params_type.of(values)
        assert isinstance(params, FreshnessParams)
        freshness = recall_freshness(scored.signals, params).value
        return list(zip(freshness.tolist(), (freshness <= params.freshness_floor).tolist(), strict=True))

    return memory_population(len(scored.signals), scored.total, decide, label_if("at the floor", itemgetter(1)))


def memory_population(
    size: int, total: int, decide: Callable[[Values], Sequence[Hashable]], labels: DecisionLabels, kind: str = ""
) -> Population:
    """A population of memories."""
    return Population("memory", "memories", size, total, decide, labels, kind)


def scored_memories(namespace: Namespace) -> ScoredMemories:
    """The newest memories that a retrieval may return, with confidence, type and age."""
    return cached_until_write(namespace, "scored", lambda: load_scored_memories(namespace))


def load_scored_memories(namespace: Namespace) -> ScoredMemories:
    """Load them: one statement, and one to count them if there are more."""
    rows = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level__in=STATEMENTS)
    newest = list(rows.order_by("-created_at", "id").values_list("confidence", "type", "created_at")[:MAX_SCORED])
    confidence, types, created = zip(*newest, strict=True) if newest else ((), (), ())
    now = namespace.now
    signals = Signals(
        ids=np.arange(len(newest)),
        type=np.array([TYPES.index(type) for type in types], np.intp),
        confidence=np.array(confidence, float),
        age_days=np.array([(now - at) / DAY for at in created], float),
    )
    return ScoredMemories(signals, rows.count() if len(newest) == MAX_SCORED else len(newest))


@cached_population
def grounded_memories(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Partly grounded memories, stored or rejected, by whether the floor rejects them with their evidence."""
    rows = Memory.objects.within(namespace).filter(
        grounding=Grounding.PARTIAL, status__in=(Status.ACTIVE, Status.REJECTED), level=ChunkLevel.FACT
    )
    total, evidence = with_evidence(namespace, rows)
    if not total:
        return NothingToCount(
            "No memory here is partly grounded.",
            "Send the passage that a memory was extracted from as evidence",
            "guards",
        )

    def decide(values: Values) -> list[bool]:
        policy = WritePolicyParams.of(values)
        return [bool(rejection_reason(one, policy)) for one in evidence]

    return memory_population(len(evidence), total, decide, label_if("rejected"), "with partial grounding")


@cached_population
def confirmed_memories(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Confirmed memories by their confidence."""
    rows = Memory.objects.within(namespace).filter(status=Status.ACTIVE, confirmed_at__isnull=False)
    total, evidence = with_evidence(namespace, rows)
    if not total:
        return NothingToCount("No memory here is confirmed.", "Confirm one on its page", "memories")

    def decide(values: Values) -> list[tuple[float, bool]]:
        policy = WritePolicyParams.of(values)
        confidences = [evidence_columns(one, policy)[0]["confidence"] for one in evidence]
        return [(confidence, confidence >= policy.confirmed_cap) for confidence in confidences]

    return memory_population(len(evidence), total, decide, label_if("at the cap", itemgetter(1)), "confirmed by a user")


def with_evidence(namespace: Namespace, rows: NamespacedQuerySet[Memory]) -> tuple[int, list[Evidence]]:
    """How many memories there are, and the evidence of the newest."""
    newest = list(rows.order_by("-created_at", "id")[:MAX_WITH_EVIDENCE])
    summaries = source_summaries(namespace, [memory.id for memory in newest])
    evidence = [evidence_from_columns(memory, summaries[memory.id]) for memory in newest]
    return (rows.count() if len(newest) == MAX_WITH_EVIDENCE else len(newest)), evidence


@cached_population
def believed_memories(namespace: Namespace, serving: WritePolicyParams) -> Counted:
    """Memories with evidence for or against them, by the belief that it adds up to."""
    total, histories = load_histories(namespace)
    if not total:
        return NothingToCount(
            "No memory here was corroborated or contradicted.", "Store facts from several sources", "docs"
        )

    def decide(values: Values) -> list[tuple[float, bool, bool]]:
        policy = WritePolicyParams.of(values)
        decisions = []
        for events, corroborations in histories:
            belief = float(replay_belief(events, policy).value)
            protected = is_protected(
                belief, corroborations, protected=policy.belief_protected, needed=policy.belief_needed
            )
            decisions.append((belief, bool(protected), belief < policy.belief_archive))
        return decisions

    return memory_population(len(histories), total, decide, BELIEF_LABELS, "with evidence for or against them")


def load_histories(namespace: Namespace) -> tuple[int, list[tuple[list[ScoreEvent], int]]]:
    """How many memories have evidence; the events and the corroborations of the newest."""
    rows = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    believed = rows.filter(Q(corroborations__gt=0) | Q(contradictions__gt=0))
    newest = list(believed.order_by("-created_at", "id").values_list("id", "corroborations")[:MAX_WITH_EVIDENCE])
    histories = score_histories(namespace, [id for id, _ in newest])
    total = believed.count() if len(newest) == MAX_WITH_EVIDENCE else len(newest)
    return total, [(histories[id], corroborations) for id, corroborations in newest]
