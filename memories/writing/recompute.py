"""Applying another write policy to stored memories: preview and recomputation."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Min, TextField
from django.db.models.functions import Cast

from memories.contracts.work import Step, Work
from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Status
from memories.models.evidence import EVIDENCE_COLUMNS
from memories.writing.belief_history import replay_belief
from memories.writing.bulk_copy import bulk_update_columns
from memories.writing.evidence import (
    SourceSummary,
    evidence_columns,
    evidence_from_columns,
    load_evidence,
    source_summary_sql,
)
from memories.writing.lock import lock_namespace
from memories.writing.write_policy import current_write_policy
from scoring.policy import WritePolicyParams

BATCH_SIZE = 250  # memories per transaction
MAX_EXAMPLES = 10
BIN_WIDTH = 0.05  # histogram bin width
# Memories with equal evidence have equal confidence, so each distinct evidence is read once.
EVIDENCE_SQL = f"""
    SELECT m.type, m.type_uncertain, m.repetitions, m.extractor_model, m.extractor_logprob, m.grounding,
        CASE WHEN m.confirmed_at IS NOT NULL THEN true END AS confirmed_at,
        sources.levels, sources.types, m.confidence, count(*) AS memories, (array_agg(m.id))[1] AS example
    FROM memories_memory m
    JOIN ({source_summary_sql("m.status = 'active'")}) sources ON sources.memory_id = m.id
    WHERE m.namespace_id = %(namespace)s AND m.status = 'active'
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""


class ScoreChange(NamedTuple):
    """One score of one memory, or of several with equal evidence, before and after."""

    memory: UUID
    before: float
    after: float
    memories: int = 1


@dataclass
class ScoreDifference:
    """How one score would change over all memories."""

    memories: int = 0
    changed: int = 0
    before: float = 0.0  # sum over the memories
    after: float = 0.0
    histogram: Counter[float] = field(default_factory=Counter)  # memories by size of change
    examples: list[ScoreChange] = field(default_factory=list)

    def add(self, change: ScoreChange) -> None:
        """Add memories that change equally."""
        self.memories += change.memories
        self.before += change.before * change.memories
        self.after += change.after * change.memories
        if change.after == change.before:
            return
        self.changed += change.memories
        self.histogram[round((change.after - change.before) / BIN_WIDTH) * BIN_WIDTH] += change.memories
        self.examples.append(change)

    def to_dict(self) -> dict[str, Any]:
        """Counts, means, histogram and the largest changes, as JSON."""
        by_size = sorted(self.examples, key=lambda change: (-abs(change.after - change.before), change.memory))
        return {
            "changed": self.changed,
            "mean_before": self.before / self.memories if self.memories else None,
            "mean_after": self.after / self.memories if self.memories else None,
            "histogram": [
                {"change": round(size, 2), "memories": count} for size, count in sorted(self.histogram.items())
            ],
            "largest": [
                {"memory": str(change.memory), "before": change.before, "after": change.after}
                for change in by_size[:MAX_EXAMPLES]
            ],
        }


def preview_policy(namespace: Namespace, policy: WritePolicyParams) -> dict[str, Any]:
    """How many memories another policy would change, and by how much; writes nothing."""
    confidence, belief = ScoreDifference(), ScoreDifference()
    crossings = Counter({"rise_above": 0, "fall_below": 0})
    for change in confidence_changes(namespace, policy):
        confidence.add(change)
        above = (change.before >= policy.high_confidence, change.after >= policy.high_confidence)
        crossings["rise_above"] += change.memories * (above == (False, True))
        crossings["fall_below"] += change.memories * (above == (True, False))
    for change in belief_changes(namespace, policy):
        belief.add(change)
    return {
        "memories": confidence.memories,
        "confidence": confidence.to_dict(),
        "belief": belief.to_dict(),
        "high_confidence": {"threshold": policy.high_confidence, **crossings},
    }


def confidence_changes(namespace: Namespace, policy: WritePolicyParams) -> Iterator[ScoreChange]:
    """Current and new confidence per distinct evidence of active memories."""
    with connection.cursor() as cursor:
        cursor.execute(EVIDENCE_SQL, {"namespace": namespace.id})
        names = [column.name for column in cursor.description]
        rows = [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
    for row in rows:
        numbers, _ = evidence_columns(
            evidence_from_columns(row, SourceSummary(frozenset(row.levels), frozenset(row.types))), policy
        )
        yield ScoreChange(row.example, row.confidence, numbers["confidence"], row.memories)


def belief_changes(namespace: Namespace, policy: WritePolicyParams) -> Iterator[ScoreChange]:
    """Current and new belief of active memories; those without evidence are grouped."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE)
    without_evidence = active.filter(corroborations=0, contradictions=0).values("belief")
    for row in without_evidence.annotate(memories=Count("id"), example=Min(Cast("id", TextField()))):
        yield ScoreChange(UUID(row["example"]), row["belief"], policy.belief_start, row["memories"])
    with_evidence = active.exclude(corroborations=0, contradictions=0).values_list("id", "belief")
    histories = score_histories(namespace, [id for id, _ in with_evidence])
    for id, belief in with_evidence:
        yield ScoreChange(id, belief, float(replay_belief(histories[id], policy).value))


def score_histories(namespace: Namespace, ids: list[UUID]) -> dict[UUID, list[ScoreEvent]]:
    """The events of memories, in order."""
    histories: dict[UUID, list[ScoreEvent]] = {id: [] for id in ids}
    for event in ScoreEvent.objects.within(namespace).filter(memory_id__in=ids).order_by("at", "id"):
        histories[event.memory_id].append(event)
    return histories


def recompute_scores(work: Work) -> None:
    """Recompute every active memory under the current policy in batches; each change is an event."""
    active = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE).order_by("id")
    total, done = active.count(), work.step_result.get("looked_at", 0)
    last = UUID(work.step_result.get("through", UUID(int=0).hex))
    work.record_progress(done, max(total, done))
    while ids := list(active.filter(id__gt=last).values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            lock_namespace(work.namespace)
            changed = recompute_batch(work, ids)
            done, last = done + len(ids), ids[-1]
            work.step_result["through"] = str(last)
            work.record_progress(done, max(total, done), looked_at=len(ids), changed=changed)


def recompute_batch(work: Work, ids: list[UUID]) -> int:
    """Recompute some memories and count those that changed; the caller holds the lock."""
    policy = current_write_policy(work.namespace)
    states = load_evidence(work.namespace, ids, policy)
    histories = score_histories(work.namespace, ids)
    for id, state in states.items():
        state.belief_term = replay_belief(histories[id], policy)
        state.record(work.now, "recomputed", work.job.by, belief=float(state.belief_term.value))
    changed = [state for state in states.values() if state.events]
    bulk_update_columns([state.memory for state in changed], EVIDENCE_COLUMNS)
    ScoreEvent.objects.bulk_create(event for state in changed for event in state.events)
    return len(changed)


STEPS: dict[str, Step] = {"recompute": recompute_scores}
