"""Later evidence on a stored memory: confirmation, feedback, contradiction, forgetting, each with its events."""

from uuid import UUID

from memories.models import MemoryEdge, Namespace, ScoreEvent
from memories.models.choices import EdgeKind, Status
from memories.writing.evidence import EvidenceState
from memories.writing.lock import LockedMemories, lock_memories
from memories.writing.prepare import redact_if_enabled
from memories.writing.supersede import leave_search
from scoring import evidence

CONTRADICTION_CONFIRMED = "contradiction confirmed"


def confirm_memory(namespace: Namespace, memory: UUID, *, by: str) -> EvidenceState:
    """Record a user's confirmation: a stronger source, one more observation, no grounding penalty; caps confidence."""
    with lock_memories(namespace, memory, by=by) as locked:
        state = locked.get(memory)
        state.evidence = evidence.confirm_evidence(state.evidence)
        state.record(locked.now, "confirmed", by, confirmed_at=locked.now)
    return state


def record_feedback(namespace: Namespace, memory: UUID, *, useful: bool, by: str) -> EvidenceState:
    """Record whether a memory helped an agent; the utility of blend and contextdb is computed from these counts."""
    with lock_memories(namespace, memory, by=by) as locked:
        state = locked.get(memory)
        column = "useful" if useful else "not_useful"
        counts = {column: getattr(state.memory, column) + 1}
        state.record(locked.now, "found useful" if useful else "found not useful", by, **counts)
    return state


def forget_memory(namespace: Namespace, memory: UUID, *, by: str) -> EvidenceState:
    """Exclude a memory from every answer; its rows stay until they are purged."""
    with lock_memories(namespace, memory, by=by) as locked:
        state = locked.get(memory, allowed=Status)
        leave_search(locked, state)
        state.record(locked.now, "forgotten", by, status=Status.FORGOTTEN, reason=f"forgotten by {by}")
    return state


def contradict_memories(
    namespace: Namespace, memory: UUID, other: UUID, *, reason: str, by: str
) -> tuple[EvidenceState, EvidenceState, bool]:
    """Record that two memories cannot both be true; return whether the contradiction is new.

    One that is known already is confirmed: it no longer depends on the rules that found it.
    """
    with lock_memories(namespace, memory, other, by=by) as locked:
        pair = locked.get_fact(memory), locked.get_fact(other)
        reason = redact_if_enabled(namespace, reason)
        new = add_contradiction(locked, *pair, reason=reason)
        if not new:
            confirm_contradiction(locked, *pair, reason=reason)
    return *pair, new


def confirm_contradiction(
    locked: LockedMemories, first: EvidenceState, second: EvidenceState, *, reason: str = ""
) -> None:
    """Record in both histories, once, that somebody confirmed a contradiction; belief has dropped already."""
    for state, opponent in ((first, second), (second, first)):
        event = {"memory_id": state.memory.id, "other_id": opponent.memory.id, "cause": CONTRADICTION_CONFIRMED}
        if not ScoreEvent.objects.within(locked.namespace).filter(**event).exists():
            parts = {"reason": reason} if reason else {}
            state.events.append(
                ScoreEvent(namespace=locked.namespace, at=locked.now, by=locked.by, parts=parts, **event)
            )


def add_contradiction(
    locked: LockedMemories,
    first: EvidenceState,
    second: EvidenceState,
    *,
    reason: str = "",
    cosine: float | None = None,
) -> bool:
    """Add a contradiction edge between two memories; each pair lowers the belief of both once."""
    later, earlier = sorted((first.memory.id, second.memory.id), reverse=True)
    edge = MemoryEdge(source_id=later, target_id=earlier, kind=EdgeKind.CONTRADICTION, cosine=cosine)
    edge.namespace, edge.created_at = locked.namespace, locked.now
    existing = MemoryEdge.objects.within(locked.namespace).filter(source_id=later, target_id=earlier, kind=edge.kind)
    if existing.exists():
        return False
    edge.save(force_insert=True)
    for state, opponent in ((first, second), (second, first)):
        state.contradict()
        state.record(locked.now, "contradicted", locked.by, opponent.memory.id)
        if reason:
            state.give_reason(reason)
    return True
