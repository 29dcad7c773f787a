"""Memories that hardly anything speaks for any more: listed, and archived where that is asked for."""

from memories.jobs.work import Work
from memories.models import Memory
from memories.models.choices import ChunkLevel, Status
from memories.reflecting.pieces import EXAMPLES, parts
from memories.writing import visibility
from memories.writing.held import held
from memories.writing.policy import policy_of
from memories.writing.succession import awaiting, release


def archival(work: Work) -> None:
    """List the facts whose belief has fallen below the policy's line; with `archive` take them out of every search."""
    line = policy_of(work.namespace).belief_archive
    doubted = Memory.objects.within(work.namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT, belief__lt=line)
    rows = list(doubted.order_by("belief", "id").values_list("id", "belief"))
    # What an earlier attempt archived is no candidate any more, but was one.
    work.facts["candidates"] = len(rows) + work.facts.get("archived", 0)
    work.facts.setdefault("examples", [{"memory": str(memory), "belief": belief} for memory, belief in rows[:EXAMPLES]])
    work.moved(0, len(rows))
    if not work.job.params.get("archive"):
        return
    done = 0
    for block in parts([memory for memory, _ in rows]):
        with held(work.namespace, *block, by=work.job.by) as hold:
            still = [
                one for one in hold.known.values() if one.memory.status == Status.ACTIVE and one.memory.belief < line
            ]
            visibility.hide(work.namespace, [one.memory.id for one in still])
            for one in still:
                for held_on in awaiting(hold, one.memory.id):
                    release(hold, held_on)
                reason = f"belief {one.memory.belief:g} is below {line:g}"
                one.settle(hold.now, "archived", hold.by, status=Status.ARCHIVED, reason=reason)
            done += len(block)
            work.moved(done, len(rows), archived=len(still))
