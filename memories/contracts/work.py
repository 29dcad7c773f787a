"""A running job as its steps see it: progress, results so far, cancellation."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.db import transaction
from django.utils import timezone

from memories.models import Job, Namespace

CANCEL = "stop"  # key among a job's parameters, which workers read and never write
# Called after every committed batch; may raise WorkerStoppedError to postpone the rest.
JobProgressCallback: TypeAlias = Callable[[Job], None]


class WorkerStoppedError(Exception):
    """The worker stops: the rest of the job goes back to the queue."""


class StaleAttemptError(Exception):
    """Another attempt owns the job, or it was deleted with its namespace: this attempt must write nothing more."""


def ignore_progress(job: Job) -> None:
    """The callback that does nothing."""


def is_cancelled(job: Job) -> bool:
    """Whether the job has been cancelled since it started."""
    params = Job.objects.within(job.namespace).filter(id=job.id).values_list("params", flat=True).first()
    return bool(params and params.get(CANCEL))


@dataclass
class Work:
    """A running job."""

    namespace: Namespace
    job: Job
    on_progress: JobProgressCallback = ignore_progress

    @property
    def now(self) -> datetime:
        """The current time by the namespace's clock."""
        return self.namespace.now

    @property
    def step_result(self) -> dict[str, Any]:
        """The result of the current step so far, earlier attempts included."""
        result: dict[str, Any] = self.job.result.setdefault(self.job.step, {})
        return result

    def begin_step(self, step: str) -> None:
        """Start a step; one that was started before keeps its result."""
        self.job.step = step
        self.record_progress(0)

    def record_progress(self, done: int, total: int | None = None, **counts: int) -> None:
        """Save the progress of the step, and add counts to its result.

        Called in the transaction of the batch, so that a crash loses both or neither.
        """
        for name, count in counts.items():
            self.step_result[name] = self.step_result.get(name, 0) + count
        self.job.done, self.job.total, self.job.moved_at = done, total, timezone.now()
        self.save("step", "done", "total", "result", "moved_at")
        # After the commit, so that a stopping worker loses no batch.
        transaction.on_commit(lambda: self.on_progress(self.job))

    def save(self, *columns: str) -> None:
        """Save some columns of the job if this attempt still owns it."""
        owned = Job.objects.within(self.namespace).filter(id=self.job.id, run=self.job.run)
        if not owned.update(**{column: getattr(self.job, column) for column in columns}):
            raise StaleAttemptError(f"job {self.job.id}")


# A step works in batches, each in its own transaction, and can be resumed after any of them.
Step: TypeAlias = Callable[[Work], None]
