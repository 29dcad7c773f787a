"""The scope of a reflection: all facts or those that changed since the last one, in batches; examples of findings."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q

from memories.contracts.work import Work
from memories.db.ids import first_id_at
from memories.models import Job, Memory, Mention, Publication, ScoreEvent
from memories.models.choices import ChunkLevel, JobKind, JobState
from memories.models.keys import NamespacedQuerySet

CLOCK_SKEW = timedelta(minutes=1)  # between the machines whose clocks are in the ids
BATCH_SIZE = 200  # memories per transaction: short enough for other writers to get in between
MAX_EXAMPLES = 50  # recorded per kind of finding; the rest is only counted

T = TypeVar("T")


def first_new_id(work: Work) -> UUID | None:
    """The lower bound of ids created since the last reflection; None to cover everything.

    A reflection covers everything the first time, on request, and after a new policy or embedder.
    """
    done = Job.objects.within(work.namespace).filter(state=JobState.DONE, started_at__isnull=False)
    last = done.filter(kind=JobKind.REFLECT).exclude(id=work.job.id).order_by("started_at").last()
    if work.job.params.get("full") or last is None or last.started_at is None or is_outdated(work, last.started_at):
        return None
    return first_id_at(last.started_at - CLOCK_SKEW)


def is_outdated(work: Work, reflected_at: datetime) -> bool:
    """Whether a policy was published or the namespace re-embedded since; both affect every memory."""
    published = Publication.objects.within(work.namespace).filter(published_at__gt=reflected_at)
    embedded = Job.objects.within(work.namespace).filter(kind=JobKind.REEMBED, finished_at__gt=reflected_at)
    return published.exists() or embedded.exists()


def changed_facts(work: Work) -> NamespacedQuerySet[Memory]:
    """Facts that were stored, changed status or gained a mention since the last reflection."""
    facts = Memory.objects.within(work.namespace).filter(level=ChunkLevel.FACT)
    since = first_new_id(work)
    if since is None:
        return facts
    events = ScoreEvent.objects.within(work.namespace).filter(id__gte=since, after__has_key="status")
    mentions = Mention.objects.within(work.namespace).filter(id__gte=since)
    return facts.filter(Q(id__in=events.values("memory_id")) | Q(id__in=mentions.values("memory_id")))


def in_batches(items: Sequence[T], size: int = BATCH_SIZE) -> Iterator[Sequence[T]]:
    """Slices of at most `size` items."""
    return (items[start : start + size] for start in range(0, len(items), size))


def remaining(work: Work, items: Sequence[T]) -> Sequence[T]:
    """The items, sorted by their string, that earlier attempts at this step have not reached."""
    return [item for item in items if str(item) > work.step_result.get("through", "")]


def record_example(work: Work, name: str, example: Any) -> None:
    """Add an example to the step's result, up to `MAX_EXAMPLES`."""
    examples = work.step_result.setdefault(name, [])
    if len(examples) < MAX_EXAMPLES:
        examples.append(example)
