"""Memories that hardly anything speaks for any more: listed, and archived where that is asked for."""

from memories.jobs.work import Work
from memories.models import Memory
from memories.models.choices import ChunkLevel, Status
from memories.reflecting.pieces import EXAMPLES, parts
from memories.writing import search_index
from memories.writing.lock import lock_memories
from memories.writing.supersede import cancel_supersession, load_awaiting
from memories.writing.write_policy import current_write_policy


def archival(work: Work) -> None:
    """List the facts whose belief has fallen below the policy's line; with `archive` take them out of every search."""
    line = current_write_policy(work.namespace).belief_archive
    doubted = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT, belief__lt=line)
    rows = list(doubted.order_by("belief", "id").values_list("id", "belief"))
    # What an earlier attempt archived is no candidate any more, but was one.
    work.step_result["candidates"] = len(rows) + work.step_result.get("archived", 0)
    work.step_result.setdefault(
        "examples", [{"memory": str(memory), "belief": belief} for memory, belief in rows[:EXAMPLES]]
    )
    work.record_progress(0, len(rows))
    if not work.job.params.get("archive"):
        return
    done = 0
    for block in parts([memory for memory, _ in rows]):
        with lock_memories(work.namespace, *block, by=work.job.by) as hold:
            still = [
                one for one in hold.known.values() if one.memory.status == Status.ACTIVE and one.memory.belief < line
            ]
            search_index.hide_memories(work.namespace, [one.memory.id for one in still])
            for one in still:
                for held_on in load_awaiting(hold, one.memory.id):
                    cancel_supersession(hold, held_on)
                reason = f"belief {one.memory.belief:g} is below {line:g}"
                one.record(hold.now, "archived", hold.by, status=Status.ARCHIVED, reason=reason)
            done += len(block)
            work.record_progress(done, len(rows), archived=len(still))
