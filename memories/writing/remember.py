"""From what a caller asks to be remembered to what is stored of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import prefetch_related_objects

from memories import metrics
from memories.models import Memory, Namespace, NamespaceStatistics
from memories.models.choices import EdgeKind, Status
from memories.providers.judge import judge
from memories.writing.comparing import disputes, of_others, opposed, unrelated
from memories.writing.desk import Desk
from memories.writing.judging import Opinions
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import Prepared, embedded_for, prepared_ahead
from memories.writing.standing import Standing
from scoring.belief import corroborates
from scoring.contradiction import ANOTHER_VALUE
from scoring.dedup import band
from scoring.systems.recall import RecallParams, rejection
from scoring.term import Tree

TOGETHER = 125  # memories in one transaction: long enough to be cheap, short enough to let others write
FLOOR = RecallParams().min_confidence
# Whoever checks a reference for the first time on a connection keeps the plan: while tables are empty that would be to
# read them whole, for as long as the connection lives.
LOCK = """
    UPDATE memories_namespacestatistics SET writes = writes + 1 WHERE namespace_id = %s
    RETURNING writes, set_config('enable_seqscan', 'off', true)
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a memory, and why."""

    outcome: Literal["stored", "merged", "escalated", "rejected"]
    reason: str
    standing: Standing  # its own, or that of the memory it was merged with

    @property
    def memory(self) -> Memory:
        """Give the row, as the whole batch leaves it."""
        return self.standing.memory

    @property
    def explanation(self) -> Tree:
        """Tell how its confidence came about."""
        return self.standing.explained

    @property
    def scores(self) -> dict[str, Tree]:
        """Tell how its other scores came about."""
        return self.standing.scores


def remember(namespace: Namespace, news: Sequence[NewMemory], *, by: str, dry_run: bool = False) -> list[Outcome]:
    """Resolve, ground, score, dedupe, store and corroborate; one outcome for each memory, in order.

    A dry run does all of it and takes it back.
    """
    if not news:
        return []
    # A dry run is one transaction, or its second part would not know of its first. Where the caller has one around all,
    # the first part would hold the lock while a judge is asked about the second.
    asks_inside = connection.in_atomic_block and judge(settings.RECALL_JUDGE).remote
    length = len(news) if dry_run or asks_inside else TOGETHER
    parts = [news[start : start + length] for start in range(0, len(news), length)]
    ready: Iterable[Prepared] = prepared_ahead(namespace, parts)
    if connection.in_atomic_block:
        # The first part would hold the lock while the others are embedded.
        ready = list(ready)
    return [outcome for part in ready for outcome in written(namespace, part, by, dry_run)]


def written(
    namespace: Namespace, ready: Prepared, by: str, dry_run: bool, opinions: Opinions | None = None
) -> list[Outcome]:
    """Write some memories in one transaction, under the lock of their namespace; whoever holds it asks beforehand."""
    opinions = opinions or Opinions.on(namespace, ready)
    with transaction.atomic():
        lock(namespace)
        ready = embedded_for(namespace, ready)
        desk = Desk.opened(namespace, ready, by)
        outcomes = [decided(desk, opinions, place) for place in range(len(ready.news))]
        desk.file()
        # Once for all who will show them, and before a dry run takes them back.
        known = [outcome.memory for outcome in outcomes if outcome.memory.given_tags is None]
        prefetch_related_objects(known, "tags")
        transaction.set_rollback(dry_run)
        transaction.on_commit(lambda: metrics.remembered(one.outcome for one in outcomes))
    return outcomes


def lock(namespace: Namespace) -> None:
    """One writer at a time in a namespace: the row that holds its statistics is the lock, and counts the writes."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [namespace.id])
        if (row := cursor.fetchone()) is None:
            NamespaceStatistics.objects.get_or_create(namespace=namespace)
            cursor.execute(LOCK, [namespace.id])
            row = cursor.fetchone()
    namespace.writing = row[0]
    # Whoever held the lock before may have changed the embedder.
    namespace.refresh_from_db(fields=["embedder"])


def decided(desk: Desk, opinions: Opinions, place: int) -> Outcome:
    """Weigh one memory against what is known, and put it where it belongs."""
    standing = desk.weighed(place)
    if reason := rejection(standing.evidence, desk.policy):
        desk.keep(place, standing, Status.REJECTED, reason)
        return told(standing, "rejected", reason)
    if (twin := desk.twin_of(standing)) is not None:
        counted = twin.hear(desk.origins(place), replace(standing.evidence, type=twin.evidence.type))
        desk.observe(place, twin)
        return told(twin, "merged", "said before" if counted else "said before in the same session")
    memory = standing.memory
    close = [
        (other, cosine, opposed(memory, other.memory))
        for other, cosine in desk.close_to(place)
        if not unrelated(memory, other.memory)
    ]
    for other, cosine, reasons in close:
        if not reasons and (verdict := same(desk, opinions, standing, other, cosine)):
            return merge(
                desk, place, standing, other, f"says the same as another memory ({verdict}, cosine {cosine:.3f})"
            )
    desk.keep(place, standing, Status.ACTIVE, "")
    for other, cosine, reasons in close:
        if not reasons and backs(desk, standing, other, cosine):
            desk.corroborate(standing, other, cosine, EdgeKind.SUPPORTS)
    opposing: dict[UUID, tuple[Standing, float | None, tuple[str, ...]]]
    opposing = {pair[0].memory.id: pair for pair in close if disputes(memory, pair[0].memory, pair[2])}
    for other in desk.rivals(place):
        if not unrelated(memory, other.memory) and ANOTHER_VALUE in (reasons := opposed(memory, other.memory)):
            opposing.setdefault(other.memory.id, (other, None, reasons))
    for against, likeness, _ in opposing.values():
        desk.contradict(standing, against, likeness)
    doubtful = [pair for pair in close if unsure(desk, opinions, standing, *pair)]
    for other, cosine, _ in doubtful:
        desk.escalate(standing, other, cosine)
    if doubtful:
        return told(standing, "escalated", "close to another memory; a person should look")
    return told(standing, "stored", "; ".join(sorted({why for *_, reasons in opposing.values() for why in reasons})))


def same(desk: Desk, opinions: Opinions, one: Standing, other: Standing, cosine: float) -> str:
    """How it is known that two memories are one; nothing where they are not."""
    if of_others(one.memory, other.memory):
        return ""
    match band(cosine, duplicate=desk.policy.dedup_duplicate, escalate=desk.policy.dedup_escalate):
        case "duplicate":
            return "nearly the same text"
        case "escalate" if opinions.same(one.memory.content, other.memory.content):
            return "so judged"
    return ""


def unsure(
    desk: Desk, opinions: Opinions, one: Standing, other: Standing, cosine: float, reasons: tuple[str, ...]
) -> bool:
    """Whether two memories are too close to call."""
    if reasons or of_others(one.memory, other.memory):
        return False
    where = band(cosine, duplicate=desk.policy.dedup_duplicate, escalate=desk.policy.dedup_escalate)
    return where == "escalate" and opinions.same(one.memory.content, other.memory.content) is None


def backs(desk: Desk, one: Standing, other: Standing, cosine: float) -> bool:
    """Whether a new memory is independent evidence for an old one."""
    policy, shared = desk.policy, len(one.entities & other.entities)
    similar = corroborates(
        shared, cosine, needed=policy.corroboration_shared, threshold=policy.corroboration_cosine, conflict=False
    )
    return similar and bool(other.independent(one.origins))


def merge(desk: Desk, place: int, standing: Standing, other: Standing, reason: str) -> Outcome:
    """Let a new memory be absorbed by an old one; it stays, and can be split off again."""
    desk.keep(place, standing, Status.MERGED, reason, into=other.memory.id)
    other.hear(standing.origins, standing.evidence)
    desk.absorb(place, other, standing)
    return told(other, "merged", reason)


def told(standing: Standing, outcome: Literal["stored", "merged", "escalated", "rejected"], reason: str) -> Outcome:
    """The outcome as the caller learns it."""
    sure = standing.memory.confidence
    if outcome != "rejected" and sure < FLOOR:
        low = f"its confidence of {sure:.2f} lies below the {FLOOR:.2f} that recall gives back"
        reason = f"{reason}; {low}" if reason else low
    return Outcome(outcome, reason, standing)
