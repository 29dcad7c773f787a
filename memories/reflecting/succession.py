"""Corrections that were told ahead and have begun: what they correct gives way."""

from memories.jobs.work import Work
from memories.reflecting.pieces import parts, tell
from memories.writing.held import held
from memories.writing.succession import all_awaiting, conclude, due


def succession(work: Work) -> None:
    """Supersede what has come to its end, and count what still awaits it."""
    ids = list(due(work.namespace).order_by("id").values_list("id", flat=True))
    work.facts["awaiting"] = all_awaiting(work.namespace).count() - len(ids)
    work.moved(0, len(ids), superseded=0)
    done = 0
    for block in parts(ids):
        with held(work.namespace, *block, by=work.job.by) as hold:
            ended = conclude(hold)
            for one in ended:
                tell(work, "examples", {"memory": str(one.memory.id), "by": str(one.memory.superseded_by_id)})
            done += len(block)
            work.moved(done, len(ids), superseded=len(ended))
