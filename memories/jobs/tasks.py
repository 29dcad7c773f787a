"""The tasks of the queue; procrastinate imports this module by `PROCRASTINATE_IMPORT_PATHS`."""

from uuid import UUID

from django.conf import settings
from django.db import connection
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.contrib.django import app
from procrastinate.jobs import Job as QueuedJob

from memories.contracts.work import WorkerStoppedError, ignore_progress
from memories.jobs.attempt import RetryLaterError, run_job
from memories.jobs.job_queue import QUEUE, TASK
from memories.jobs.scheduled import (
    delete_old_uploads,
    drop_old_traces,
    drop_unused_indexes,
    ensure_trace_partitions,
    start_due_indexing,
    start_due_measurements,
    start_due_reflections,
    start_shadow_comparisons,
)
from memories.models import Job

MAX_WAIT = 3600  # seconds


class RetryUntilFinished(BaseRetryStrategy):
    """Retry a task until its job is finished; the job itself counts its attempts."""

    def get_retry_decision(self, *, exception: BaseException, job: QueuedJob) -> RetryDecision:
        """Retry at once after a worker stopped, later after a failure."""
        match exception:
            case WorkerStoppedError():
                wait = 0
            case RetryLaterError():
                wait = exception.wait
            case _:  # not even claimed, as when the database is down
                wait = min(4 ** (job.attempts + 1), MAX_WAIT)
        return RetryDecision(retry_in={"seconds": wait}, queue=QUEUE)


@app.task(name=TASK, queue=QUEUE, pass_context=True, retry=RetryUntilFinished())
def run_job_task(context: JobContext, *, namespace: str, job: str) -> None:
    """Run a job until it is finished or the worker stops."""
    report = context.additional_context.get("on_progress", ignore_progress)

    def report_or_stop(job: Job) -> None:
        report(job)
        if context.should_abort():
            raise WorkerStoppedError

    try:
        run_job(UUID(namespace), UUID(job), report_or_stop)
    finally:
        connection.close()  # the next job may come much later


@app.task(name="memories.nightly", queue=QUEUE)
def nightly_task(timestamp: int) -> None:
    """Start the nightly reflections."""
    start_due_reflections()


@app.periodic(cron="* * * * *")
@app.task(name="memories.index", queue=QUEUE)
def index_task(timestamp: int) -> None:
    """Start the indexing of large namespaces, and the measurement of what is indexed."""
    start_due_indexing()
    start_due_measurements()


@app.periodic(cron="37 * * * *")
@app.task(name="memories.unused_indexes", queue=QUEUE)
def unused_indexes_task(timestamp: int) -> None:
    """Drop the indexes that no namespace uses any more."""
    drop_unused_indexes()


@app.periodic(cron="* * * * *")
@app.task(name="memories.shadow", queue=QUEUE)
def shadow_task(timestamp: int) -> None:
    """Start the shadow comparisons."""
    start_shadow_comparisons()


# Hourly: a partition may be locked by a reader at first.
@app.periodic(cron="7 * * * *")
@app.task(name="memories.traces", queue=QUEUE)
def traces_task(timestamp: int) -> None:
    """Create the next trace partitions and drop old ones."""
    ensure_trace_partitions()
    drop_old_traces()


@app.periodic(cron="17 * * * *")
@app.task(name="memories.uploads", queue=QUEUE)
def uploads_task(timestamp: int) -> None:
    """Delete old uploads."""
    delete_old_uploads()


if settings.RECALL_REFLECT_AT != "off":
    app.periodic(cron=settings.RECALL_REFLECT_AT)(nightly_task)
