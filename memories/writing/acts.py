"""What later evidence does to a stored memory: confirmation, feedback, contradiction, forgetting, with their events."""

from uuid import UUID

from memories.models import MemoryEdge, Namespace
from memories.models.choices import EdgeKind, Status
from memories.writing import visibility
from memories.writing.held import Held, held
from memories.writing.redacting import cleaned
from memories.writing.standing import Standing
from memories.writing.succession import awaiting, release
from scoring import evidence


def confirm(namespace: Namespace, memory: UUID, *, by: str) -> Standing:
    """The user says that it is so: a stronger source, one observation more, no grounding doubt, and a cap."""
    with held(namespace, memory, by=by) as hold:
        standing = hold.take(memory)
        standing.evidence = evidence.confirmed(standing.evidence)
        standing.settle(hold.now, "confirmed", by, confirmed_at=hold.now)
    return standing


def judge(namespace: Namespace, memory: UUID, *, useful: bool, by: str) -> Standing:
    """An agent tells whether a memory helped; contextdb's utility is made of these counts."""
    with held(namespace, memory, by=by) as hold:
        standing = hold.take(memory)
        column = "useful" if useful else "not_useful"
        counted = {column: getattr(standing.memory, column) + 1}
        standing.settle(hold.now, "found useful" if useful else "found not useful", by, **counted)
    return standing


def forget(namespace: Namespace, memory: UUID, *, by: str) -> Standing:
    """Take a memory out of every answer; its rows stay until they are purged."""
    with held(namespace, memory, by=by) as hold:
        standing = hold.take(memory, among=Status)
        if standing.memory.status == Status.ACTIVE:
            visibility.hide(namespace, [memory])
        # A correction that never began has corrected nothing.
        for one in awaiting(hold, memory):
            release(hold, one)
        standing.settle(hold.now, "forgotten", by, status=Status.FORGOTTEN, reason=f"forgotten by {by}")
    return standing


def contradict(
    namespace: Namespace, memory: UUID, other: UUID, *, reason: str, by: str
) -> tuple[Standing, Standing, bool]:
    """Somebody says that two memories cannot both hold; tell whether that was new."""
    with held(namespace, memory, other, by=by) as hold:
        pair = hold.take_fact(memory), hold.take_fact(other)
        new = disagree(hold, *pair, reason=cleaned(namespace, reason))
    return *pair, new


def disagree(hold: Held, one: Standing, other: Standing, *, reason: str = "", cosine: float | None = None) -> bool:
    """Join two memories that cannot both hold; both lose belief, once for a pair."""
    later, earlier = sorted((one.memory.id, other.memory.id), reverse=True)
    edge = MemoryEdge(source_id=later, target_id=earlier, kind=EdgeKind.CONTRADICTION, cosine=cosine)
    edge.namespace, edge.created_at = hold.namespace, hold.now
    there = MemoryEdge.objects.within(hold.namespace).filter(source_id=later, target_id=earlier, kind=edge.kind)
    if there.exists():
        return False
    edge.save(force_insert=True)
    for standing, against in ((one, other), (other, one)):
        standing.contradicted()
        standing.settle(hold.now, "contradicted", hold.by, against.memory.id)
        if reason and standing.events:
            standing.events[-1].parts = {**standing.events[-1].parts, "reason": reason}
    return True
