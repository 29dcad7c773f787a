"""Corrections that were told ahead and have begun: what they correct gives way."""

from memories.jobs.work import Work
from memories.reflecting.pieces import parts, tell
from memories.writing.lock import lock_memories
from memories.writing.supersede import due_supersessions, finish_supersessions, pending_supersessions


def succession(work: Work) -> None:
    """Supersede what has come to its end, and count what still awaits it."""
    ids = list(due_supersessions(work.namespace).order_by("id").values_list("id", flat=True))
    work.step_result["awaiting"] = pending_supersessions(work.namespace).count() - len(ids)
    work.record_progress(0, len(ids), superseded=0)
    done = 0
    for block in parts(ids):
        with lock_memories(work.namespace, *block, by=work.job.by) as hold:
            ended = finish_supersessions(hold)
            for one in ended:
                tell(work, "examples", {"memory": str(one.memory.id), "by": str(one.memory.superseded_by_id)})
            done += len(block)
            work.record_progress(done, len(ids), superseded=len(ended))
