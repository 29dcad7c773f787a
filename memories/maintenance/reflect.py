"""The steps of a reflection, in order; the short ones are defined here."""

from django.db import transaction

from memories.contracts.work import Step, Work
from memories.maintenance.clusters import cluster_facts
from memories.maintenance.consolidation import consolidate
from memories.maintenance.contradiction_withdrawal import withdraw_contradictions
from memories.maintenance.contradictions import find_contradictions
from memories.maintenance.drift import detect_drift
from memories.maintenance.reconnection import reconnect
from memories.maintenance.reflection_scope import MAX_EXAMPLES, in_batches, record_example
from memories.maintenance.type_resolution import resolve_types
from memories.models import Memory
from memories.models.choices import ChunkLevel, Status
from memories.writing import search_index
from memories.writing.lock import lock_memories
from memories.writing.supersede import (
    cancel_supersession,
    due_supersessions,
    finish_supersessions,
    load_awaiting,
    pending_supersessions,
)
from memories.writing.turns.vector_backfill import backfill_vectors
from memories.writing.write_policy import current_write_policy


def supersede_due(work: Work) -> None:
    """Supersede memories whose scheduled correction has taken effect; count those still waiting."""
    ids = list(due_supersessions(work.namespace).order_by("id").values_list("id", flat=True))
    work.step_result["awaiting"] = pending_supersessions(work.namespace).count() - len(ids)
    work.record_progress(0, len(ids), superseded=0)
    done = 0
    for batch in in_batches(ids):
        with lock_memories(work.namespace, *batch, by=work.job.by) as locked:
            superseded = finish_supersessions(locked)
            for state in superseded:
                successor = str(state.memory.superseded_by_id)
                record_example(work, "examples", {"memory": str(state.memory.id), "by": successor})
            done += len(batch)
            work.record_progress(done, len(ids), superseded=len(superseded))


def archive_doubted(work: Work) -> None:
    """List facts whose belief is below the policy's threshold; with the parameter `archive`, archive them."""
    threshold = current_write_policy(work.namespace).belief_archive
    facts = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    rows = list(facts.filter(belief__lt=threshold).order_by("belief", "id").values_list("id", "belief"))
    # Including those that an earlier attempt archived.
    work.step_result["candidates"] = len(rows) + work.step_result.get("archived", 0)
    work.step_result.setdefault(
        "examples", [{"memory": str(memory), "belief": belief} for memory, belief in rows[:MAX_EXAMPLES]]
    )
    work.record_progress(0, len(rows))
    if not work.job.params.get("archive"):
        return
    done = 0
    for batch in in_batches([memory for memory, _ in rows]):
        with lock_memories(work.namespace, *batch, by=work.job.by) as locked:
            doubted = [
                state
                for state in locked.known.values()
                if state.memory.status == Status.ACTIVE and state.memory.belief < threshold
            ]
            search_index.hide_memories(work.namespace, [state.memory.id for state in doubted])
            for state in doubted:
                for waiting in load_awaiting(locked, state.memory.id):
                    cancel_supersession(locked, waiting)
                reason = f"belief {state.memory.belief:g} is below {threshold:g}"
                state.record(locked.now, "archived", locked.by, status=Status.ARCHIVED, reason=reason)
            done += len(batch)
            work.record_progress(done, len(rows), archived=len(doubted))


def backfill_next_turns(work: Work) -> None:
    """Embed the user's next turn for every chunk that lacks it."""
    work.record_progress(0, filled=0)
    while True:
        with transaction.atomic():
            count = backfill_vectors(work.namespace)
            if not count:
                return
            work.record_progress(work.job.done + count, filled=count)


# Superseded memories are skipped by later steps; subjects decide what can contradict or be summarised.
STEPS: dict[str, Step] = {
    "succession": supersede_due,
    "reconnection": reconnect,
    "types": resolve_types,
    "withdrawal": withdraw_contradictions,
    "contradictions": find_contradictions,
    "consolidation": consolidate,
    "drift": detect_drift,
    "archival": archive_doubted,
    "clusters": cluster_facts,
    "backfill": backfill_next_turns,
}
