"""What the queue runs; procrastinate finds this module by its name."""

from uuid import UUID

from django.conf import settings
from django.db import connection
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.contrib.django import app
from procrastinate.jobs import Job as Place

from memories.jobs.attempt import RetryLaterError, run_job
from memories.jobs.job_queue import QUEUE, TASK
from memories.jobs.scheduled import (
    drop_old_traces,
    ensure_trace_partitions,
    start_due_indexing,
    start_due_reflections,
    start_shadow_comparisons,
)
from memories.jobs.work import WorkerStoppedError, ignore_progress
from memories.models import Job

MAX_WAIT = 3600  # seconds


class RetryUntilFinished(BaseRetryStrategy):
    """Whatever ends a task before its job is over, the job comes again: how often is the job's own to count."""

    def get_retry_decision(self, *, exception: BaseException, job: Place) -> RetryDecision:
        """Come again at once after a stop, later after a failure."""
        match exception:
            case WorkerStoppedError():
                wait = 0
            case RetryLaterError():
                wait = exception.wait
            case _:  # not even begun, as when the database is down
                wait = min(4 ** (job.attempts + 1), MAX_WAIT)
        return RetryDecision(retry_in={"seconds": wait}, queue=QUEUE)


@app.task(name=TASK, queue=QUEUE, pass_context=True, retry=RetryUntilFinished())
def run_job_task(context: JobContext, *, namespace: str, job: str) -> None:
    """Do a job, as far as the worker lives."""
    tell = context.additional_context.get("tell", ignore_progress)

    def heed(job: Job) -> None:
        tell(job)
        if context.should_abort():
            raise WorkerStoppedError

    try:
        run_job(UUID(namespace), UUID(job), heed)
    finally:
        connection.close()  # the next job may be long in coming


@app.task(name="memories.nightly", queue=QUEUE)
def nightly_task(timestamp: int) -> None:
    """Begin the night's work."""
    start_due_reflections()


@app.periodic(cron="* * * * *")
@app.task(name="memories.index", queue=QUEUE)
def index_task(timestamp: int) -> None:
    """Have what was written lately indexed, where there is much of it."""
    start_due_indexing()


@app.periodic(cron="* * * * *")
@app.task(name="memories.shadow", queue=QUEUE)
def shadow_task(timestamp: int) -> None:
    """Have what was asked lately answered by the shadows as well."""
    start_shadow_comparisons()


# By the hour, because a day that could not be made or dropped while somebody held its table is due all the same.
@app.periodic(cron="7 * * * *")
@app.task(name="memories.traces", queue=QUEUE)
def traces_task(timestamp: int) -> None:
    """Have tomorrow's traces find their place, and let go of the old ones."""
    ensure_trace_partitions()
    drop_old_traces()


if settings.RECALL_REFLECT_AT != "off":
    app.periodic(cron=settings.RECALL_REFLECT_AT)(nightly_task)
