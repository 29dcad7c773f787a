"""A job's hand on its own record: how far it is, and what it has found."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from memories.models import Job, Namespace


@dataclass
class Work:
    """One job while it runs."""

    namespace: Namespace
    job: Job

    @property
    def now(self) -> datetime:
        """The moment that its namespace takes for now."""
        return self.namespace.clock or timezone.now()

    @property
    def facts(self) -> dict[str, Any]:
        """What the present step has found so far, its earlier attempts included."""
        found: dict[str, Any] = self.job.result.setdefault(self.job.step, {})
        return found

    def begin(self, step: str) -> None:
        """Go on to a step; one that was begun before keeps what it found."""
        self.job.step, self.job.done, self.job.total = step, 0, None
        self.moved(0)

    def moved(self, done: int, total: int | None = None, **counted: int) -> None:
        """Tell how far the step is, and add what was just done to its facts.

        Called in the transaction that does it, so that after a crash either both stand or neither.
        """
        for name, count in counted.items():
            self.facts[name] = self.facts.get(name, 0) + count
        self.job.done, self.job.total, self.job.moved_at = done, total, timezone.now()
        self.job.save(update_fields=["step", "done", "total", "result", "moved_at"])


# A step does its work piece by piece, each in a transaction of its own, and can be begun anew at any piece.
Step = Callable[[Work], None]
