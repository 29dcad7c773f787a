"""What the user said next, for the chunks of conversations that do not know it yet."""

from django.db import transaction

from memories.jobs.work import Work
from memories.writing.turns.vector_backfill import backfill_vectors as filled


def backfill(work: Work) -> None:
    """Give every chunk the vector of the user's next words; those that have it are done."""
    work.record_progress(0, filled=0)
    while True:
        with transaction.atomic():
            count = filled(work.namespace)
            if not count:
                return
            work.record_progress(work.job.done + count, filled=count)
