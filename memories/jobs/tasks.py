"""The queue's tasks; procrastinate imports this module by `PROCRASTINATE_IMPORT_PATHS`."""

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
    drop_old_traces,
    ensure_trace_partitions,
    start_due_indexing,
    start_due_reflections,
    start_shadow_comparisons,
)
from memories.models import Job

MAX_WAIT = 3600  # seconds


class RetryUntilFinished(BaseRetryStrategy):
    """Retry a task until its job is finished; the job counts its own attempts."""

    def get_retry_decision(self, *, exception: BaseException, job: QueuedJob) -> RetryDecision:
        """Retry at once after a stop of the worker, later after a failure."""
        match exception:
            case WorkerStoppedError():
                wait = 0
            case RetryLaterError():
                wait = exception.wait
            case _:  # not even started, such as when the database is down
                wait = min(4 ** (job.attempts + 1), MAX_WAIT)
        return RetryDecision(retry_in={"seconds": wait}, queue=QUEUE)


@app.task(name=TASK, queue=QUEUE, pass_context=True, retry=RetryUntilFinished())
def run_job_task(context: JobContext, *, namespace: str, job: str) -> None:
    """Run a job until it ends or the worker is stopped."""
    report_progress = context.additional_context.get("on_progress", ignore_progress)

    def on_progress(job: Job) -> None:
        report_progress(job)
        if context.should_abort():
            raise WorkerStoppedError

    try:
        run_job(UUID(namespace), UUID(job), on_progress)
    finally:
        connection.close()  # the next job may come much later


@app.task(name="memories.nightly", queue=QUEUE)
def nightly_task(timestamp: int) -> None:
    """Start the nightly reflections."""
    start_due_reflections()


@app.periodic(cron="* * * * *")
@app.task(name="memories.index", queue=QUEUE)
def index_task(timestamp: int) -> None:
    """Start indexing where many vectors are new."""
    start_due_indexing()


@app.periodic(cron="* * * * *")
@app.task(name="memories.shadow", queue=QUEUE)
def shadow_task(timestamp: int) -> None:
    """Start the comparisons of shadows on recent queries."""
    start_shadow_comparisons()


# Hourly: a partition that could not be created or dropped while its table was locked is tried again.
@app.periodic(cron="7 * * * *")
@app.task(name="memories.traces", queue=QUEUE)
def traces_task(timestamp: int) -> None:
    """Create tomorrow's partition for traces, and drop old ones."""
    ensure_trace_partitions()
    drop_old_traces()


if settings.RECALL_REFLECT_AT != "off":
    app.periodic(cron=settings.RECALL_REFLECT_AT)(nightly_task)
