"""The checkpoint of an import, saved in the transaction of its batch: a crash neither loses nor repeats a line."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from memories.contracts.json_lines import LineBatch, LineReader
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState

OUTCOMES = ("stored", "merged", "escalated", "rejected", "refused")
RESTORED, ENDED = "restored", "ended"


class ImportStoppedError(Exception):
    """An import that cannot go on; says why and what to do."""


class ConcurrentImportError(ImportStoppedError):
    """Another process imports the same file."""


@dataclass
class Checkpoint:
    """The position in a file up to which everything is stored; the hash of all bytes before it identifies the file."""

    namespace: Namespace
    job: Job

    @classmethod
    def create(cls, namespace: Namespace, file: str, reader: LineReader, *, by: str) -> "Checkpoint":
        """Start at the first line."""
        job = Job(namespace=namespace, kind=JobKind.IMPORT, state=JobState.RUNNING, params={"file": file}, by=by)
        job.result, job.attempts, job.started_at = {"place": reader.position, "outcomes": {}}, 1, timezone.now()
        job.save(force_insert=True)
        return cls(namespace, job)

    @classmethod
    def latest(cls, namespace: Namespace, file: str) -> "Checkpoint | None":
        """The checkpoint of the last import of a file of this name."""
        jobs = Job.objects.within(namespace).filter(kind=JobKind.IMPORT, params__file=file)
        job = jobs.order_by("created_at", "id").last()
        return cls(namespace, job) if job else None

    @property
    def is_finished(self) -> bool:
        """Whether the file was imported to its end."""
        return self.job.state == JobState.DONE

    @property
    def position(self) -> Mapping[str, Any]:
        """The number of bytes, and their hash."""
        position: Mapping[str, Any] = self.job.result["place"]
        return position

    @property
    def counts(self) -> Mapping[str, int]:
        """The count of each outcome, earlier attempts included."""
        counts = self.job.result["outcomes"]
        return {outcome: counts[outcome] for outcome in (*OUTCOMES, RESTORED) if outcome in counts}

    def skip_to(self, reader: LineReader) -> bool:
        """Advance a fresh reader to here; returns whether it skipped what was imported before."""
        reader.skip(self.position["bytes"], self.job.done)
        return reader.position == self.position

    def resume(self) -> None:
        """Begin another attempt from here."""
        job = self.job
        job.state, job.error, job.finished_at, job.attempts = JobState.RUNNING, "", None, job.attempts + 1
        job.save(update_fields=["state", "error", "finished_at", "attempts"])

    def lock(self) -> None:
        """Lock the row within a batch's transaction; raises ConcurrentImportError if another process advanced it."""
        stored = Job.objects.within(self.namespace).select_for_update().get(id=self.job.id)
        if stored.result["place"] != self.position:
            raise ConcurrentImportError("Another process is importing this file: let it finish.")

    def advance(self, read: LineReader | LineBatch, outcomes: Iterable[str]) -> None:
        """Advance past what was read, in the transaction that stores it."""
        job = self.job
        job.result = {"place": read.position, "outcomes": dict(Counter(self.counts) + Counter(outcomes))}
        job.done, job.moved_at = read.number, timezone.now()
        job.save(update_fields=["params", "step", "done", "result", "moved_at"])

    def finish(self, error: str = "") -> None:
        """Mark the import as done, or as failed with an error."""
        job = self.job
        job.state, job.error = JobState.FAILED if error else JobState.DONE, error
        job.finished_at = timezone.now()
        job.save(update_fields=["state", "error", "finished_at"])
