"""From what a caller asks to be remembered to what is stored of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from django.db import transaction
from django.db.models import prefetch_related_objects

from memories.models import Memory, Namespace, NamespaceStatistics
from memories.models.choices import EdgeKind, Status
from memories.providers.embedder import embedder
from memories.writing import judging
from memories.writing.desk import Desk
from memories.writing.new_memory import NewMemory
from memories.writing.standing import Standing
from scoring.belief import corroborates
from scoring.contradiction import Statement, conflicts
from scoring.dedup import band
from scoring.systems.recall import rejection
from scoring.term import Array, Tree

TOGETHER = 100  # memories in one transaction: long enough to be cheap, short enough to let others write


@dataclass(frozen=True)
class Outcome:
    """What became of a memory, why, and how its confidence came about."""

    outcome: Literal["stored", "merged", "escalated", "rejected"]
    reason: str
    memory: Memory
    explanation: Tree


def remember(namespace: Namespace, news: Sequence[NewMemory], *, by: str, dry_run: bool = False) -> list[Outcome]:
    """Resolve, ground, score, dedupe, store and corroborate; one outcome for each memory, in order.

    A dry run does all of it and takes it back.
    """
    if not news:
        return []
    vectors = np.asarray(embedder(namespace.embedder).embed([new.content for new in news]), dtype=float)
    outcomes: list[Outcome] = []
    # A dry run is one transaction, or its second part would not know of its first.
    for start in range(0, len(news), len(news) if dry_run else TOGETHER):
        part = slice(start, start + (len(news) if dry_run else TOGETHER))
        outcomes += written(namespace, news[part], vectors[part], by, dry_run)
    return outcomes


def written(namespace: Namespace, news: Sequence[NewMemory], vectors: Array, by: str, dry_run: bool) -> list[Outcome]:
    """Write some memories in one transaction, under the lock of their namespace."""
    with transaction.atomic():
        lock(namespace)
        desk = Desk.opened(namespace, news, vectors, by)
        outcomes = [decided(desk, place) for place in range(len(news))]
        desk.file()
        # Once for all who will show them, and before a dry run takes them back.
        prefetch_related_objects([outcome.memory for outcome in outcomes], "tags")
        transaction.set_rollback(dry_run)
    return outcomes


def lock(namespace: Namespace) -> None:
    """One writer at a time in a namespace: the row that holds its statistics is the lock."""
    NamespaceStatistics.objects.get_or_create(namespace=namespace)
    NamespaceStatistics.objects.select_for_update().get(namespace=namespace)


def decided(desk: Desk, place: int) -> Outcome:
    """Weigh one memory against what is known, and put it where it belongs."""
    new = desk.news[place]
    standing = desk.weighed(place, judging.grounding(new.content, new.evidence))
    if reason := rejection(standing.evidence, desk.policy):
        desk.keep(place, standing, Status.REJECTED, reason)
        return told(standing, "rejected", reason)
    if (twin := desk.twin_of(standing)) is not None:
        counted = twin.hear(desk.origin(place), standing.evidence)
        desk.observed(place, twin)
        return told(twin, "merged", "said before" if counted else "said before in the same session")
    close = [(other, cosine, opposed(standing, other)) for other, cosine in desk.close_to(place)]
    for other, cosine, reasons in close:
        if not reasons and (verdict := same(desk, standing, other, cosine)):
            return merge(
                desk, place, standing, other, f"says the same as another memory ({verdict}, cosine {cosine:.3f})"
            )
    desk.keep(place, standing, Status.ACTIVE, "")
    doubtful = [
        (other, cosine) for other, cosine, reasons in close if not reasons and unsure(desk, standing, other, cosine)
    ]
    for other, cosine, reasons in close:
        if reasons:
            desk.contradict(standing, other, cosine)
        elif backs(desk, place, standing, other, cosine):
            desk.corroborate(standing, other, cosine, EdgeKind.SUPPORTS)
    for other, cosine in doubtful:
        desk.escalate(standing, other, cosine)
    if doubtful:
        return told(standing, "escalated", "close to another memory; a person should look")
    return told(standing, "stored", "; ".join(sorted({why for _, _, reasons in close for why in reasons})))


def opposed(one: Standing, other: Standing) -> tuple[str, ...]:
    """Why two memories cannot both be merged or count for each other."""
    return conflicts(statement(one.memory), statement(other.memory))


def statement(memory: Memory) -> Statement:
    """What a memory states, as the contradiction check reads it."""
    subject = str(memory.subject_id or memory.subject_fallback or "")
    return Statement(memory.content, subject, memory.predicate, memory.object)


def same(desk: Desk, one: Standing, other: Standing, cosine: float) -> str:
    """How it is known that two memories are one; nothing where they are not."""
    match band(cosine, duplicate=desk.policy.dedup_duplicate, escalate=desk.policy.dedup_escalate):
        case "duplicate":
            return "nearly the same text"
        case "escalate" if judging.same(one.memory.content, other.memory.content):
            return "so judged"
    return ""


def unsure(desk: Desk, one: Standing, other: Standing, cosine: float) -> bool:
    """Whether two memories are too close to call."""
    where = band(cosine, duplicate=desk.policy.dedup_duplicate, escalate=desk.policy.dedup_escalate)
    return where == "escalate" and judging.same(one.memory.content, other.memory.content) is None


def backs(desk: Desk, place: int, one: Standing, other: Standing, cosine: float) -> bool:
    """Whether a new memory is independent evidence for an old one."""
    policy, shared = desk.policy, len(one.entities & other.entities)
    similar = corroborates(
        shared, cosine, needed=policy.corroboration_shared, threshold=policy.corroboration_cosine, conflict=False
    )
    return similar and desk.origin(place) not in other.origins


def merge(desk: Desk, place: int, standing: Standing, other: Standing, reason: str) -> Outcome:
    """Let a new memory be absorbed by an old one; it stays, and can be split off again."""
    desk.keep(place, standing, Status.MERGED, reason, into=other.memory.id)
    other.hear(desk.origin(place), standing.evidence)
    desk.observed(place, other, through=standing.memory.id)
    return told(other, "merged", reason)


def told(standing: Standing, outcome: Literal["stored", "merged", "escalated", "rejected"], reason: str) -> Outcome:
    """The outcome as the caller learns it."""
    return Outcome(outcome, reason, standing.memory, standing.explained)
