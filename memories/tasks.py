"""What the queue runs; procrastinate finds this module by its name."""

from uuid import UUID

from django.conf import settings
from django.db import connection
from procrastinate import BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.contrib.django import app
from procrastinate.jobs import Job as Place

from memories.jobs.queue import QUEUE, TASK
from memories.jobs.running import UnfinishedError, run
from memories.jobs.scheduled import (
    compare_with_shadows,
    drop_old_traces,
    index_the_large,
    make_days_for_traces,
    reflect_on_all,
)
from memories.jobs.work import StoppedError, nobody
from memories.models import Job

LONGEST_WAIT = 3600  # seconds


class Again(BaseRetryStrategy):
    """Whatever ends a task before its job is over, the job comes again: how often is the job's own to count."""

    def get_retry_decision(self, *, exception: BaseException, job: Place) -> RetryDecision:
        """Come again at once after a stop, later after a failure."""
        match exception:
            case StoppedError():
                wait = 0
            case UnfinishedError():
                wait = exception.wait
            case _:  # not even begun, as when the database is down
                wait = min(4 ** (job.attempts + 1), LONGEST_WAIT)
        return RetryDecision(retry_in={"seconds": wait}, queue=QUEUE)


@app.task(name=TASK, queue=QUEUE, pass_context=True, retry=Again())
def work(context: JobContext, *, namespace: str, job: str) -> None:
    """Do a job, as far as the worker lives."""
    tell = context.additional_context.get("tell", nobody)

    def heed(job: Job) -> None:
        tell(job)
        if context.should_abort():
            raise StoppedError

    try:
        run(UUID(namespace), UUID(job), heed)
    finally:
        connection.close()  # the next job may be long in coming


@app.task(name="memories.nightly", queue=QUEUE)
def nightly(timestamp: int) -> None:
    """Begin the night's work."""
    reflect_on_all()


@app.periodic(cron="* * * * *")
@app.task(name="memories.index", queue=QUEUE)
def index(timestamp: int) -> None:
    """Have what was written lately indexed, where there is much of it."""
    index_the_large()


@app.periodic(cron="* * * * *")
@app.task(name="memories.shadow", queue=QUEUE)
def shadow(timestamp: int) -> None:
    """Have what was asked lately answered by the shadows as well."""
    compare_with_shadows()


# By the hour, because a day that could not be made or dropped while somebody held its table is due all the same.
@app.periodic(cron="7 * * * *")
@app.task(name="memories.traces", queue=QUEUE)
def traces(timestamp: int) -> None:
    """Have tomorrow's traces find their place, and let go of the old ones."""
    make_days_for_traces()
    drop_old_traces()


if settings.RECALL_REFLECT_AT != "off":
    app.periodic(cron=settings.RECALL_REFLECT_AT)(nightly)
