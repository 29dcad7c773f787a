"""How far an import is, kept in the transaction that stores what it read: a crash loses nothing and repeats nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from memories.contracts.json_lines import Batch, Reader
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState

OUTCOMES = ("stored", "merged", "escalated", "rejected", "refused")
RESTORED, ENDED = "restored", "ended"


class StoppedError(Exception):
    """An import that cannot go on; says why and what to do."""


class TakenError(StoppedError):
    """Somebody else imports the same file."""


@dataclass
class Bookmark:
    """The place in a file up to which everything is settled; the file is known again by the hash of all before it."""

    namespace: Namespace
    job: Job

    @classmethod
    def new(cls, namespace: Namespace, file: str, reader: Reader, *, by: str) -> "Bookmark":
        """Begin at the first line."""
        job = Job(namespace=namespace, kind=JobKind.IMPORT, state=JobState.RUNNING, params={"file": file}, by=by)
        job.result, job.attempts, job.started_at = {"place": reader.place, "outcomes": {}}, 1, timezone.now()
        job.save(force_insert=True)
        return cls(namespace, job)

    @classmethod
    def latest(cls, namespace: Namespace, file: str) -> "Bookmark | None":
        """The bookmark left by the last import of a file of this name."""
        jobs = Job.objects.within(namespace).filter(kind=JobKind.IMPORT, params__file=file)
        job = jobs.order_by("created_at", "id").last()
        return cls(namespace, job) if job else None

    @property
    def finished(self) -> bool:
        """Whether the file was read to its end."""
        return self.job.state == JobState.DONE

    @property
    def place(self) -> Mapping[str, Any]:
        """Where it lies: a number of bytes, and their hash."""
        place: Mapping[str, Any] = self.job.result["place"]
        return place

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each outcome came, earlier attempts included."""
        counts = self.job.result["outcomes"]
        return {outcome: counts[outcome] for outcome in (*OUTCOMES, RESTORED) if outcome in counts}

    def reached(self, reader: Reader) -> bool:
        """Bring a fresh reader here; tell whether what it passed over is what was read before."""
        reader.pass_over(self.place["bytes"], self.job.done)
        return reader.place == self.place

    def resume(self) -> None:
        """Go on from here."""
        job = self.job
        job.state, job.error, job.finished_at, job.attempts = JobState.RUNNING, "", None, job.attempts + 1
        job.save(update_fields=["state", "error", "finished_at", "attempts"])

    def hold(self) -> None:
        """Wait for whoever else moves this bookmark, and stop if they did; in the transaction of a batch."""
        stored = Job.objects.within(self.namespace).select_for_update().get(id=self.job.id)
        if stored.result["place"] != self.place:
            raise TakenError("Another process imports this file at the same time: let that one end.")

    def move(self, read: Reader | Batch, outcomes: Iterable[str]) -> None:
        """Lay it behind what was read, in the transaction that stores it."""
        job = self.job
        job.result = {"place": read.place, "outcomes": dict(Counter(self.counts) + Counter(outcomes))}
        job.done, job.moved_at = read.number, timezone.now()
        job.save(update_fields=["params", "step", "done", "result", "moved_at"])

    def end(self, error: str = "") -> None:
        """Close it: read to the end, or stopped by an error."""
        job = self.job
        job.state, job.error = JobState.FAILED if error else JobState.DONE, error
        job.finished_at = timezone.now()
        job.save(update_fields=["state", "error", "finished_at"])
