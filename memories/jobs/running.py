"""One attempt at a job: from the step it had come to, to its end or its next failure."""

import logging
import traceback
from uuid import UUID, uuid4

from django.db import Error, OperationalError, close_old_connections, connection, transaction
from django.utils import timezone

from memories.jobs.registry import JOBS
from memories.jobs.work import Heed, OvertakenError, StoppedError, Work, nobody
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState
from memories.models.job import UNFINISHED
from memories.providers.embedder import EmbedderError

logger = logging.getLogger(__name__)

ATTEMPTS = 5
# Others' messages may quote what somebody has stored, and the record outlives an erasure.
SPEAKING = (EmbedderError, OperationalError, OSError)
LONGEST_ERROR = 500  # characters


class UnfinishedError(Exception):
    """An attempt failed and another will be made, after some seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"again in {wait} s")
        self.wait = wait


def run(namespace: UUID, job: UUID, heed: Heed = nobody) -> None:
    """Do what is left of a job; nothing where it is finished, or gone with its namespace."""
    work = claimed(namespace, job, heed)
    if work is None:
        return
    try:
        go_on(work)
    except OvertakenError:
        logger.info("Job %s is another's now, or gone", job)
    except StoppedError:
        if hand_back(work):
            raise
    except Exception as error:
        if failed(work, error):
            raise UnfinishedError(4**work.job.attempts) from error


@transaction.atomic
def claimed(namespace: UUID, job: UUID, heed: Heed) -> Work | None:
    """Begin an attempt; from here on an earlier one that was taken for dead can write nothing."""
    world = Namespace.objects.filter(id=namespace).first()
    found = Job.objects.within(world).select_for_update().filter(id=job).first() if world else None
    if world is None or found is None or found.state not in UNFINISHED:
        return None
    work = Work(world, found, heed)
    if found.attempts >= ATTEMPTS:
        end(work, JobState.FAILED, found.error or f"Its worker died {ATTEMPTS} times.")
        return None
    found.started_at = found.started_at or timezone.now()
    found.state, found.attempts, run = JobState.RUNNING, found.attempts + 1, uuid4()
    Job.objects.within(world).filter(id=found.id).update(run=run)
    found.run = run
    work.keep("state", "attempts", "started_at")
    return work


def go_on(work: Work) -> None:
    """Do the steps from the one that was begun last; those before it are done."""
    steps = JOBS[JobKind(work.job.kind)]()
    names = list(steps)
    for name in names[names.index(work.job.step) if work.job.step in steps else 0 :]:
        if name != work.job.step:
            work.begin(name)
        steps[name](work)
    end(work, JobState.DONE)


def end(work: Work, state: JobState, error: str = "") -> None:
    """Write down that a job is over."""
    work.job.state, work.job.error, work.job.finished_at = state, error, timezone.now()
    work.keep("state", "error", "finished_at")


def hand_back(work: Work) -> bool:
    """Let a job wait for another worker, unless one has it: that this one stops is no fault of the job's."""
    work.job.state, work.job.attempts = JobState.QUEUED, work.job.attempts - 1
    try:
        work.keep("state", "attempts")
    except OvertakenError:
        return False
    return True


def failed(work: Work, error: Exception) -> bool:
    """Write down what went wrong; tell whether another attempt is due."""
    if not connection.in_atomic_block:
        close_old_connections()  # the fault may have been the connection's
    last = work.job.attempts >= ATTEMPTS
    try:
        if last:
            end(work, JobState.FAILED, told(error))
            logger.error("Job %s (%s) failed for good", work.job.id, work.job.kind, exc_info=error)
        else:
            work.job.state, work.job.error = JobState.QUEUED, told(error)
            work.keep("state", "error")
    except OvertakenError:
        return False
    except Error:  # the database is down; the next attempt counts this one
        return True
    return not last


def told(error: Exception) -> str:
    """An error as the record keeps it: its type, and its message or the place where it arose."""
    name = type(error).__name__
    if isinstance(error, SPEAKING):
        return f"{name}: {' '.join(str(error).split())}"[:LONGEST_ERROR]
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{name} in {place.name}, {place.filename.rpartition('/')[2]} line {place.lineno}"
