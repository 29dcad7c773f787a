"""Erased ids and texts removed from the history of other memories and from job records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.db import connection

from memories.maintenance.erase_records import names_id_sql
from memories.maintenance.survivors import replaced_by
from memories.models import Job, Memory, Namespace, ScoreEvent

ERASED = "the memory it named was erased"
JOBS_SQL = f"""
    SELECT id FROM memories_job
    WHERE namespace_id = %(namespace)s AND {names_id_sql("concat(params, result)")}
"""


@dataclass(frozen=True)
class Redaction:
    """The ids and texts to remove."""

    ids: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def of(cls, ids: Iterable[UUID], texts: Iterable[str]) -> Self:
        """Redact ids and non-empty texts."""
        return cls(frozenset(map(str, ids)), frozenset(filter(None, texts)))

    def occurs_in(self, value: Any) -> bool:
        """Whether a JSON value contains an id, or is or quotes a text."""
        if isinstance(value, dict):
            return any(self.occurs_in(part) for pair in value.items() for part in pair)
        if isinstance(value, list):
            return any(map(self.occurs_in, value))
        if not isinstance(value, str):
            return False
        # A short text may occur in a longer one by chance, so only a quotation counts.
        return (
            value in self.texts
            or any(id in value for id in self.ids)
            or any(f"“{text}”" in value for text in self.texts)
        )

    def redact_json(self, value: Any) -> Any:
        """The JSON value without them: a list loses the item, an object the key, a string its whole text."""
        if not self.occurs_in(value):
            return value
        if isinstance(value, dict):
            return {key: self.redact_json(part) for key, part in value.items() if not self.occurs_in(key)}
        if isinstance(value, list):
            return [item for item in value if not self.occurs_in(item)]
        return ERASED


def redact_history(namespace: Namespace, ids: Sequence[UUID], redaction: Redaction) -> int:
    """Redact the events of survivors that name or quote erased memories; numbers stay. Returns how many changed.

    Events are immutable, so such an event is erased and replaced by a redacted copy.
    """
    events = ScoreEvent.objects.within(namespace)
    caused = events.filter(other_id__in=ids).exclude(memory_id__in=ids).values_list("memory_id", flat=True)
    survivors = Memory.objects.within(namespace).filter(id__in={*caused, *replaced_by(namespace, ids)})
    history: dict[UUID, list[ScoreEvent]] = {memory.id: [] for memory in survivors}
    for event in events.filter(memory_id__in=history):
        history[event.memory_id].append(event)
    copies = []
    for memory in survivors:
        # The reason of a change caused by an erased memory may quote it in any words.
        reasons = {event.after.get("reason", "") for event in history[memory.id] if event.other_id in ids}
        wider = Redaction(redaction.ids, redaction.texts | (reasons - {"", ERASED}))
        copies += [copy for event in history[memory.id] if (copy := redact_event(event, wider)) is not None]
        memory.reason = wider.redact_json(memory.reason)
    Memory.objects.bulk_update(survivors, ["reason"])
    events.filter(id__in=[event.id for event in copies]).erase()
    ScoreEvent.objects.bulk_create(copies)
    return len(copies)


def redact_event(event: ScoreEvent, redaction: Redaction) -> ScoreEvent | None:
    """A redacted copy of an event; None if there is nothing to redact."""
    stored = {field.attname: getattr(event, field.attname) for field in ScoreEvent._meta.concrete_fields}
    copy = {
        name: redact_columns(value, redaction) if isinstance(value, dict) else value for name, value in stored.items()
    }
    copy["other_id"] = None if str(event.other_id) in redaction.ids else event.other_id
    return None if copy == stored else ScoreEvent(**copy)


def redact_columns(columns: dict[str, Any], redaction: Redaction) -> dict[str, Any]:
    """Remove ids from all columns, but texts only from the reason: elsewhere an equal text is a coincidence."""
    redacted: dict[str, Any] = Redaction(redaction.ids, frozenset()).redact_json(columns)
    return {name: redaction.redact_json(value) if name == "reason" else value for name, value in redacted.items()}


def redact_jobs(namespace: Namespace, redaction: Redaction) -> int:
    """Redact the parameters and results of jobs; returns how many changed."""
    with connection.cursor() as cursor:
        cursor.execute(JOBS_SQL, {"namespace": namespace.id, "ids": list(map(UUID, redaction.ids))})
        jobs = Job.objects.within(namespace).filter(id__in=[id for (id,) in cursor.fetchall()])
    for job in jobs:
        job.params, job.result = redaction.redact_json(job.params), redaction.redact_json(job.result)
    return Job.objects.bulk_update(jobs, ["params", "result"]) if jobs else 0
