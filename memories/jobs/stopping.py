"""Telling a job that it is enough: it ends with what it has."""

from memories.models import Job
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED

STOP = "stop"  # among the parameters, which a worker reads and never writes
STOPPABLE = (JobKind.OPTIMISE,)  # what is half done of the rest is worth nothing


def stop(job: Job) -> None:
    """Have a job end at the next piece; one that has ended stays as it is."""
    params = {**job.params, STOP: True}
    mine = Job.objects.within(job.namespace).filter(id=job.id, state__in=UNFINISHED)
    if mine.update(params=params):
        job.params = params


def told_to_stop(job: Job) -> bool:
    """Whether somebody has said so meanwhile."""
    said = Job.objects.within(job.namespace).filter(id=job.id).values_list("params", flat=True).first()
    return bool(said and said.get(STOP))
