"""Asking for long work."""

from typing import Any

from django.db import IntegrityError, transaction

from memories.jobs.job_queue import QUEUE, enqueue_job, is_enqueued, move_job
from memories.models import Job, Namespace
from memories.models.choices import JobKind
from memories.models.job import UNFINISHED


class BusyError(Exception):
    """Work of this kind is under way with other parameters."""

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
    """Make a job and its place in the queue, both or neither.

    Where one of its kind goes alone and waits or runs already, that one is given back.
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
        if not is_enqueued(other) and not move_job(other, queue):  # two crashes in a row can cost a job its place
            enqueue_job(other, queue=queue, priority=priority)
        return other
