"""Another write policy and what is stored already: how much would change, and changing it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Min, TextField
from django.db.models.functions import Cast

from memories.jobs.work import Step, Work
from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Status
from memories.writing.belief_history import refolded
from memories.writing.copying import updated
from memories.writing.policy import policy_of
from memories.writing.remember import lock
from memories.writing.sources import Told, heard_by
from memories.writing.standing import TRACKED, evidence_of, loaded, weighed
from scoring.policy import WritePolicy

TOGETHER = 250  # memories in one transaction
EXAMPLES = 10
BIN = 0.05  # width of the histogram's columns
# Memories of equal evidence have equal confidence, so each kind of evidence is asked for once.
EVIDENCE = f"""
    SELECT m.type, m.type_uncertain, m.repetitions, m.extractor_model, m.extractor_logprob, m.grounding,
        CASE WHEN m.confirmed_at IS NOT NULL THEN true END AS confirmed_at,
        said.levels, said.types, m.confidence, count(*) AS memories, (array_agg(m.id))[1] AS example
    FROM memories_memory m
    JOIN ({heard_by("m.status = 'active'")}) said ON said.memory_id = m.id
    WHERE m.namespace_id = %(namespace)s AND m.status = 'active'
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""


class Change(NamedTuple):
    """One number of one memory, or of several that are alike, before and after."""

    memory: UUID
    before: float
    after: float
    memories: int = 1


@dataclass
class Difference:
    """How one number would change over all memories."""

    memories: int = 0
    changed: int = 0
    before: float = 0.0  # means
    after: float = 0.0
    histogram: Counter[float] = field(default_factory=Counter)  # memories by how much they change
    examples: list[Change] = field(default_factory=list)  # the largest changes

    def count(self, change: Change) -> None:
        """Add some memories that change alike."""
        self.memories += change.memories
        self.before += change.before * change.memories
        self.after += change.after * change.memories
        if change.after == change.before:
            return
        self.changed += change.memories
        self.histogram[round((change.after - change.before) / BIN) * BIN] += change.memories
        self.examples.append(change)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        largest = sorted(self.examples, key=lambda one: (-abs(one.after - one.before), one.memory))[:EXAMPLES]
        return {
            "changed": self.changed,
            "mean_before": self.before / self.memories if self.memories else None,
            "mean_after": self.after / self.memories if self.memories else None,
            "histogram": [
                {"change": round(change, 2), "memories": count} for change, count in sorted(self.histogram.items())
            ],
            "largest": [{"memory": str(one.memory), "before": one.before, "after": one.after} for one in largest],
        }


def preview(namespace: Namespace, policy: WritePolicy) -> dict[str, Any]:
    """How many memories another policy would change, and by how much; nothing is written."""
    confidence, belief = Difference(), Difference()
    crossed = Counter({"rise_above": 0, "fall_below": 0})
    for change in confidences(namespace, policy):
        confidence.count(change)
        high = (change.before >= policy.high_confidence, change.after >= policy.high_confidence)
        crossed["rise_above"] += change.memories * (high == (False, True))
        crossed["fall_below"] += change.memories * (high == (True, False))
    for change in beliefs(namespace, policy):
        belief.count(change)
    return {
        "memories": confidence.memories,
        "confidence": confidence.told(),
        "belief": belief.told(),
        "high_confidence": {"threshold": policy.high_confidence, **crossed},
    }


def confidences(namespace: Namespace, policy: WritePolicy) -> Iterator[Change]:
    """Every kind of evidence that active memories stand on, as it counts now and as it would."""
    with connection.cursor() as cursor:
        cursor.execute(EVIDENCE, {"namespace": namespace.id})
        names = [column.name for column in cursor.description]
        rows = [SimpleNamespace(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
    for row in rows:
        numbers, _ = weighed(evidence_of(row, Told(frozenset(row.levels), frozenset(row.types))), policy)
        yield Change(row.example, row.confidence, numbers["confidence"], row.memories)


def beliefs(namespace: Namespace, policy: WritePolicy) -> Iterator[Change]:
    """The belief of active memories; of those without evidence for or against, all at once."""
    active = Memory.objects.within(namespace).filter(status=Status.ACTIVE)
    quiet = active.filter(corroborations=0, contradictions=0).values("belief")
    for row in quiet.annotate(memories=Count("id"), example=Min(Cast("id", TextField()))):
        yield Change(UUID(row["example"]), row["belief"], policy.belief_start, row["memories"])
    moved = active.exclude(corroborations=0, contradictions=0).values_list("id", "belief")
    histories = histories_of(namespace, [id for id, _ in moved])
    for id, belief in moved:
        yield Change(id, belief, float(refolded(histories[id], policy).value))


def histories_of(namespace: Namespace, ids: list[UUID]) -> dict[UUID, list[ScoreEvent]]:
    """The events of memories, in order."""
    found: dict[UUID, list[ScoreEvent]] = {id: [] for id in ids}
    for event in ScoreEvent.objects.within(namespace).filter(memory_id__in=ids).order_by("at", "id"):
        found[event.memory_id].append(event)
    return found


def recompute(work: Work) -> None:
    """Weigh every active memory's evidence by the policy that serves, piece by piece; each change is an event."""
    active = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE).order_by("id")
    total, done = active.count(), work.facts.get("looked_at", 0)
    last = UUID(work.facts.get("through", UUID(int=0).hex))
    work.moved(done, max(total, done))
    while ids := list(active.filter(id__gt=last).values_list("id", flat=True)[:TOGETHER]):
        with transaction.atomic():
            lock(work.namespace)
            changed = reweighed(work, ids)
            done, last = done + len(ids), ids[-1]
            work.facts["through"] = str(last)
            work.moved(done, max(total, done), looked_at=len(ids), changed=changed)


def reweighed(work: Work, ids: list[UUID]) -> int:
    """Settle some memories anew, and count those that changed; the caller holds the lock."""
    policy = policy_of(work.namespace)
    standings = loaded(work.namespace, ids, policy)
    histories = histories_of(work.namespace, ids)
    for id, standing in standings.items():
        standing.believed = refolded(histories[id], policy)
        standing.settle(work.now, "recomputed", work.job.by, belief=float(standing.believed.value))
    changed = [one for one in standings.values() if one.events]
    updated([one.memory for one in changed], TRACKED)
    ScoreEvent.objects.bulk_create(event for one in changed for event in one.events)
    return len(changed)


STEPS: dict[str, Step] = {"recompute": recompute}
