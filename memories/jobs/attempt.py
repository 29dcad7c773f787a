"""One attempt at a job, from the step the last one had reached."""

import logging
import traceback
from uuid import UUID, uuid4

from django.db import Error, OperationalError, close_old_connections, connection, transaction
from django.utils import timezone

from memories.contracts.work import JobProgressCallback, StaleAttemptError, Work, WorkerStoppedError, ignore_progress
from memories.jobs.registry import job_steps
from memories.models import Job, Namespace
from memories.models.choices import JobState
from memories.models.job import UNFINISHED
from memories.providers.embedder import EmbedderError

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
# Other messages may quote stored data, and the job's record outlives an erasure.
SAFE_ERRORS = (EmbedderError, OperationalError, OSError)
MAX_ERROR_LENGTH = 500  # characters


class RetryLaterError(Exception):
    """The attempt failed; another follows after some seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"retry in {wait} s")
        self.wait = wait


def run_job(namespace_id: UUID, job_id: UUID, on_progress: JobProgressCallback = ignore_progress) -> None:
    """Run what is left of a job; does nothing if it is finished or deleted."""
    work = claim_job(namespace_id, job_id, on_progress)
    if work is None:
        return
    try:
        run_steps(work)
    except StaleAttemptError:
        logger.info("Job %s belongs to another attempt, or was deleted", job_id)
    except WorkerStoppedError:
        if requeue_job(work):
            raise
    except Exception as error:
        if record_failure(work, error):
            raise RetryLaterError(4**work.job.attempts) from error


@transaction.atomic
def claim_job(namespace_id: UUID, job_id: UUID, on_progress: JobProgressCallback) -> Work | None:
    """Start an attempt; an earlier one presumed dead can no longer write."""
    namespace = Namespace.objects.filter(id=namespace_id).first()
    job = Job.objects.within(namespace).select_for_update().filter(id=job_id).first() if namespace else None
    if namespace is None or job is None or job.state not in UNFINISHED:
        return None
    work = Work(namespace, job, on_progress)
    if job.attempts >= MAX_ATTEMPTS:
        finish_job(work, JobState.FAILED, job.error or f"Its worker died {MAX_ATTEMPTS} times.")
        return None
    job.started_at = job.started_at or timezone.now()
    job.state, job.attempts, run = JobState.RUNNING, job.attempts + 1, uuid4()
    Job.objects.within(namespace).filter(id=job.id).update(run=run)
    job.run = run
    work.save("state", "attempts", "started_at")
    return work


def run_steps(work: Work) -> None:
    """Run the steps from the last one started; those before it are done."""
    steps = job_steps(work.job)
    names = list(steps)
    for name in names[names.index(work.job.step) if work.job.step in steps else 0 :]:
        if name != work.job.step:
            work.begin_step(name)
        steps[name](work)
    finish_job(work, JobState.DONE)


def finish_job(work: Work, state: JobState, error: str = "") -> None:
    """Mark a job as done or failed."""
    work.job.state, work.job.error, work.job.finished_at = state, error, timezone.now()
    work.save("state", "error", "finished_at")


def requeue_job(work: Work) -> bool:
    """Requeue a job whose worker stops, unless another has it; the attempt does not count."""
    work.job.state, work.job.attempts = JobState.QUEUED, work.job.attempts - 1
    try:
        work.save("state", "attempts")
    except StaleAttemptError:
        return False
    return True


def record_failure(work: Work, error: Exception) -> bool:
    """Record an error; returns whether another attempt is due."""
    if not connection.in_atomic_block:
        close_old_connections()  # the connection may have caused the error
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
    except Error:  # the database is down; the next attempt will count this one
        return True
    return not last


def format_job_error(error: Exception) -> str:
    """An error for the job's record: its type, and its message if that is safe, else where it was raised."""
    name = type(error).__name__
    if isinstance(error, SAFE_ERRORS):
        return f"{name}: {' '.join(str(error).split())}"[:MAX_ERROR_LENGTH]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{name} in {frame.name}, {frame.filename.rpartition('/')[2]} line {frame.lineno}"
