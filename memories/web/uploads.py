"""Uploaded files: stored as rows, checked, tried, and imported by a job."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import orjson
from django.db import transaction
from rest_framework.exceptions import ValidationError

from memories.contracts.new_memory import NewMemory
from memories.contracts.work import Step, Work
from memories.jobs.submission import submit_job
from memories.models import Job, Namespace, Upload
from memories.models.choices import JobKind, JobState
from memories.transfer.columns import guess_columns, map_columns
from memories.transfer.formats import TABLE, UnreadableFileError, parse_file
from memories.transfer.formats.recall_lines import is_conversation
from memories.transfer.planner_statistics import StatisticsRefresh
from memories.web.memory_body import validate_memories
from memories.web.turns_body import ConversationSerializer, conversation_from_body
from memories.web.validation_errors import flatten_errors
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, PositionTakenError
from memories.writing.turns.ingest import ingest

MAX_BYTES = 50_000_000
BATCH_SIZE = 200  # rows per transaction
MAX_PROBLEMS = 100  # refused rows that are listed
DRY_RUN_ROWS = 100
Problem = dict[str, Any]  # row, at, message


@dataclass(frozen=True)
class RowCheck:
    """What validation says of some rows."""

    items: Sequence[NewMemory | Conversation | None]  # None: refused
    problems: Sequence[Problem]

    @property
    def memories(self) -> list[NewMemory]:
        """The valid memories."""
        return [item for item in self.items if isinstance(item, NewMemory)]

    @property
    def conversations(self) -> list[Conversation]:
        """The valid conversations."""
        return [item for item in self.items if isinstance(item, Conversation)]

    @property
    def refused(self) -> int:
        """How many rows are not valid."""
        return sum(item is None for item in self.items)


def store_upload(namespace: Namespace, name: str, data: bytes, *, by: str) -> Upload:
    """Parse a file and keep its rows; raises UnreadableFileError."""
    parsed = parse_file(name, data)
    columns = guess_columns(parsed.rows) if parsed.format == TABLE else {}
    upload = Upload(
        namespace=namespace,
        name=name[-200:],
        format=parsed.format,
        rows=list(parsed.rows),
        count=len(parsed.rows),
        columns=columns,
        by=by,
    )
    try:
        with transaction.atomic():
            upload.save(force_insert=True)
    except orjson.JSONEncodeError as error:
        raise UnreadableFileError(f"The file cannot be stored: {error}.") from error
    return upload


def row_bodies(upload: Upload, start: int = 0, end: int | None = None) -> list[dict[str, Any]]:
    """Some rows as request bodies."""
    rows: list[dict[str, Any]] = upload.rows[start:end]
    return [map_columns(row, upload.columns) for row in rows] if upload.format == TABLE else rows


def check_rows(namespace: Namespace, bodies: Sequence[dict[str, Any]], first: int = 1) -> RowCheck:
    """Validate bodies; rows are numbered from `first`."""
    validated = iter(validate_memories(namespace, [body for body in bodies if not is_conversation(body)]))
    items: list[NewMemory | Conversation | None] = []
    problems: list[Problem] = []
    for number, body in enumerate(bodies, start=first):
        found = check_conversation(namespace, body) if is_conversation(body) else next(validated)
        if isinstance(found, dict):
            problems += [{"row": number, **problem} for problem in found["problems"]]
        items.append(None if isinstance(found, dict) else found)
    return RowCheck(items, problems)


def check_conversation(namespace: Namespace, body: dict[str, Any]) -> Conversation | dict[str, Any]:
    """A conversation, or a refusal with its problems."""
    try:
        return conversation_from_body(namespace, ConversationSerializer.validate_input(body))
    except ValidationError as error:
        return {"problems": list(flatten_errors(error.detail))}


def dry_run(upload: Upload) -> dict[str, int]:
    """What would become of the first memories: a count of each outcome. Nothing is stored."""
    memories = check_rows(upload.namespace, row_bodies(upload, 0, DRY_RUN_ROWS)).memories
    outcomes = remember(upload.namespace, memories, by=upload.by, dry_run=True)
    return dict(Counter(outcome.outcome for outcome in outcomes))


@transaction.atomic
def submit_import(upload: Upload, *, by: str) -> Job:
    """Start the import of an upload, or continue it after a failure; one that runs or is done is returned as it is."""
    rows = Upload.objects.within(upload.namespace).filter(id=upload.id)
    before = rows.select_for_update().values_list("job_id", flat=True).get()
    last = Job.objects.within(upload.namespace).filter(id=before).first() if before else None
    if last and last.state != JobState.FAILED:
        return last
    params = {"file": upload.name, "upload": str(upload.id), "start": last.done if last else 0}
    job = submit_job(upload.namespace, JobKind.IMPORT, params, by=by)
    rows.update(job_id=job.id)
    return job


def import_upload(work: Work) -> None:
    """Store batch after batch; a row that is refused does not affect the others."""
    upload = Upload.objects.within(work.namespace).get(id=work.job.params["upload"])
    done, statistics = max(work.job.done, work.job.params["start"]), StatisticsRefresh()
    while done < upload.count:
        bodies = next_batch(row_bodies(upload, done, done + BATCH_SIZE))
        with transaction.atomic():
            checked = check_rows(work.namespace, bodies, first=done + 1)
            counts = Counter(store_rows(work.namespace, checked, by=work.job.by))
            counts["refused"] += checked.refused
            listed = work.step_result.setdefault("problems", [])
            listed += checked.problems[: MAX_PROBLEMS - len(listed)]
            done += len(bodies)
            work.record_progress(done, upload.count, **counts)
        statistics.add(len(bodies))
    Upload.objects.within(work.namespace).filter(id=upload.id).update(rows=[])


def next_batch(bodies: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """One conversation, or the memories before the next: its turns are embedded while it holds the namespace lock."""
    memories = list(takewhile(lambda body: not is_conversation(body), bodies))
    return memories or bodies[:1]


def store_rows(namespace: Namespace, checked: RowCheck, *, by: str) -> Iterator[str]:
    """Store valid rows; yield the outcome of each memory, and of each turn that is new."""
    for outcome in remember(namespace, checked.memories, by=by):
        yield outcome.outcome
    for conversation in checked.conversations:
        try:
            ingested = ingest(namespace, conversation, by=by)
        except PositionTakenError:
            yield "refused"  # the session has other turns there
            continue
        yield from ("turns" for _ in ingested.fresh)
        for _, outcome in ingested.outcomes:
            yield outcome.outcome


STEPS: dict[str, Step] = {"import": import_upload}
