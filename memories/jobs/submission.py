"""Submit and cancel jobs."""

from typing import Any

from django.db import IntegrityError, transaction

from memories.contracts.work import CANCEL
from memories.jobs.job_queue import QUEUE, enqueue_job, is_enqueued, move_job
from memories.models import Job, Namespace
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED

CANCELLABLE = (JobKind.OPTIMISE,)  # the others have no useful partial result


class BusyError(Exception):
    """A job of this kind is unfinished and has other parameters."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"The job {job.id} ({job.kind}) is {job.state} with other parameters; wait until it is done.")
        self.job = job


def submit_job(
    namespace: Namespace,
    kind: JobKind,
    params: dict[str, Any],
    *,
    by: str,
    queue: str = QUEUE,
    priority: int = 0,
) -> Job:
    """Create a job and enqueue it in one transaction.

    For kinds that run one at a time, an unfinished job with the same parameters is returned instead.
    """
    while True:
        job = Job(namespace=namespace, kind=kind, params=params, by=by)
        try:
            with transaction.atomic():
                job.save(force_insert=True)
                enqueue_job(job, queue=queue, priority=priority)
            return job
        except IntegrityError as error:
            if "job_one_unfinished" not in str(error):
                raise
        other = Job.objects.within(namespace).filter(kind=kind, state__in=UNFINISHED).first()
        if other is None:  # finished just now
            continue
        if other.params != params:
            raise BusyError(other)
        if not is_enqueued(other) and not move_job(other, queue):  # two crashes in a row can lose the queue entry
            enqueue_job(other, queue=queue, priority=priority)
        return other


def cancel_job(job: Job) -> None:
    """Make an unfinished job end after its current batch, with what it has."""
    params = {**job.params, CANCEL: True}
    unfinished = Job.objects.within(job.namespace).filter(id=job.id, state__in=UNFINISHED)
    if unfinished.update(params=params):
        job.params = params
