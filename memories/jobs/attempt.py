"""One attempt at a job: from the step it had come to, to its end or its next failure."""

import logging
import traceback
from uuid import UUID, uuid4

from django.db import Error, OperationalError, close_old_connections, connection, transaction
from django.utils import timezone

from memories.jobs.registry import STEPS_BY_KIND
from memories.jobs.work import JobProgressCallback, StaleAttemptError, Work, WorkerStoppedError, ignore_progress
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState
from memories.models.job import UNFINISHED
from memories.providers.embedder import EmbedderError

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
# Others' messages may quote what somebody has stored, and the record outlives an erasure.
SAFE_ERRORS = (EmbedderError, OperationalError, OSError)
MAX_ERROR_LENGTH = 500  # characters


class RetryLaterError(Exception):
    """An attempt failed and another will be made, after some seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"again in {wait} s")
        self.wait = wait


def run_job(namespace_id: UUID, job_id: UUID, on_progress: JobProgressCallback = ignore_progress) -> None:
    """Do what is left of a job; nothing where it is finished, or gone with its namespace."""
    work = claim_job(namespace_id, job_id, on_progress)
    if work is None:
        return
    try:
        run_steps(work)
    except StaleAttemptError:
        logger.info("Job %s is another's now, or gone", job_id)
    except WorkerStoppedError:
        if requeue_job(work):
            raise
    except Exception as error:
        if record_failure(work, error):
            raise RetryLaterError(4**work.job.attempts) from error


@transaction.atomic
def claim_job(namespace_id: UUID, job_id: UUID, on_progress: JobProgressCallback) -> Work | None:
    """Begin an attempt; from here on an earlier one that was taken for dead can write nothing."""
    world = Namespace.objects.filter(id=namespace_id).first()
    found = Job.objects.within(world).select_for_update().filter(id=job_id).first() if world else None
    if world is None or found is None or found.state not in UNFINISHED:
        return None
    work = Work(world, found, on_progress)
    if found.attempts >= MAX_ATTEMPTS:
        finish_job(work, JobState.FAILED, found.error or f"Its worker died {MAX_ATTEMPTS} times.")
        return None
    found.started_at = found.started_at or timezone.now()
    found.state, found.attempts, run = JobState.RUNNING, found.attempts + 1, uuid4()
    Job.objects.within(world).filter(id=found.id).update(run=run)
    found.run = run
    work.save("state", "attempts", "started_at")
    return work


def run_steps(work: Work) -> None:
    """Do the steps from the one that was begun last; those before it are done."""
    steps = STEPS_BY_KIND[JobKind(work.job.kind)]()
    names = list(steps)
    for name in names[names.index(work.job.step) if work.job.step in steps else 0 :]:
        if name != work.job.step:
            work.begin_step(name)
        steps[name](work)
    finish_job(work, JobState.DONE)


def finish_job(work: Work, state: JobState, error: str = "") -> None:
    """Write down that a job is over."""
    work.job.state, work.job.error, work.job.finished_at = state, error, timezone.now()
    work.save("state", "error", "finished_at")


def requeue_job(work: Work) -> bool:
    """Let a job wait for another worker, unless one has it: that this one stops is no fault of the job's."""
    work.job.state, work.job.attempts = JobState.QUEUED, work.job.attempts - 1
    try:
        work.save("state", "attempts")
    except StaleAttemptError:
        return False
    return True


def record_failure(work: Work, error: Exception) -> bool:
    """Write down what went wrong; tell whether another attempt is due."""
    if not connection.in_atomic_block:
        close_old_connections()  # the fault may have been the connection's
    last = work.job.attempts >= MAX_ATTEMPTS
    try:
        if last:
            finish_job(work, JobState.FAILED, format_job_error(error))
            logger.error("Job %s (%s) failed for good", work.job.id, work.job.kind, exc_info=error)
        else:
            work.job.state, work.job.error = JobState.QUEUED, format_job_error(error)
            work.save("state", "error")
    except StaleAttemptError:
        return False
    except Error:  # the database is down; the next attempt counts this one
        return True
    return not last


def format_job_error(error: Exception) -> str:
    """An error as the record keeps it: its type, and its message or the place where it arose."""
    name = type(error).__name__
    if isinstance(error, SAFE_ERRORS):
        return f"{name}: {' '.join(str(error).split())}"[:MAX_ERROR_LENGTH]
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{name} in {place.name}, {place.filename.rpartition('/')[2]} line {place.lineno}"
