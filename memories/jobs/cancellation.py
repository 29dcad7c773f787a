"""Telling a job that it is enough: it ends with what it has."""

from memories.models import Job
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED

CANCEL = "stop"  # among the parameters, which a worker reads and never writes
CANCELLABLE = (JobKind.OPTIMISE,)  # what is half done of the rest is worth nothing


def cancel_job(job: Job) -> None:
    """Have a job end at the next piece; one that has ended stays as it is."""
    params = {**job.params, CANCEL: True}
    mine = Job.objects.within(job.namespace).filter(id=job.id, state__in=UNFINISHED)
    if mine.update(params=params):
        job.params = params


def is_cancelled(job: Job) -> bool:
    """Whether somebody has said so meanwhile."""
    said = Job.objects.within(job.namespace).filter(id=job.id).values_list("params", flat=True).first()
    return bool(said and said.get(CANCEL))
