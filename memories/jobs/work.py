"""A job's hand on its own record: how far it is, and what it has found."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.db import transaction
from django.utils import timezone

from memories.models import Job, Namespace

# Told after every piece that was committed; may raise StoppedError to have the rest done later.
JobProgressCallback: TypeAlias = Callable[[Job], None]


class WorkerStoppedError(Exception):
    """The worker stops: what is left of the job goes back into the queue."""


class StaleAttemptError(Exception):
    """Another attempt has the job, or it is gone with its namespace: this one must leave no more traces."""


def ignore_progress(job: Job) -> None:
    """Heed nothing."""


@dataclass
class Work:
    """One job while it runs."""

    namespace: Namespace
    job: Job
    on_progress: JobProgressCallback = ignore_progress

    @property
    def now(self) -> datetime:
        """The moment that its namespace takes for now."""
        return self.namespace.now

    @property
    def step_result(self) -> dict[str, Any]:
        """What the present step has found so far, its earlier attempts included."""
        found: dict[str, Any] = self.job.result.setdefault(self.job.step, {})
        return found

    def begin_step(self, step: str) -> None:
        """Go on to a step; one that was begun before keeps what it found."""
        self.job.step = step
        self.record_progress(0)

    def record_progress(self, done: int, total: int | None = None, **counts: int) -> None:
        """Tell how far the step is, and add what was just done to its facts.

        Called in the transaction that does it, so that after a crash either both stand or neither.
        """
        for name, count in counts.items():
            self.step_result[name] = self.step_result.get(name, 0) + count
        self.job.done, self.job.total, self.job.moved_at = done, total, timezone.now()
        self.save("step", "done", "total", "result", "moved_at")
        # After the commit, so that a worker that stops loses no piece.
        transaction.on_commit(lambda: self.on_progress(self.job))

    def save(self, *columns: str) -> None:
        """Store some columns of the record, if this attempt still has the job."""
        mine = Job.objects.within(self.namespace).filter(id=self.job.id, run=self.job.run)
        if not mine.update(**{column: getattr(self.job, column) for column in columns}):
            raise StaleAttemptError(f"job {self.job.id}")


# A step does its work piece by piece, each in a transaction of its own, and can be begun anew at any piece.
Step: TypeAlias = Callable[[Work], None]
