"""Work by the clock: reflection at night, large namespaces indexed, shadows asked, traces kept for their time."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from memories.ids import first_id_at
from memories.jobs.starting import BusyError, start
from memories.models import Entity, EntityAlias, Job, Memory, Namespace, Publication, ScoreEvent, Shadow
from memories.models.choices import JobKind, JobState
from memories.models.partitions import drop_partitions, ensure_partitions
from memories.tuning.shadow import unseen
from memories.writing.indexing import due
from memories.writing.succession import due as due_to_give_way

BY = "schedule"
PRIORITY = -10  # what people ask for goes first
AHEAD = 3  # days, today among them, that are ready for traces
# Whatever changes in a namespace leaves one of these, under an identifier that sorts by time.
TRACES = (ScoreEvent, Entity, EntityAlias, Publication)


def reflect_on_all() -> list[Job]:
    """Start to reflect where something has changed; a namespace with a clock of its own has no nights."""
    jobs = []
    for namespace in Namespace.objects.filter(clock=None).order_by("id"):
        if changed(namespace):
            try:
                jobs.append(start(namespace, JobKind.REFLECT, {}, by=BY, priority=PRIORITY))
            except BusyError:
                continue
    return jobs


def index_the_large() -> list[Job]:
    """Start to index where a namespace has outgrown scanning."""
    return [start(namespace, JobKind.INDEX, {}, by=BY, priority=PRIORITY) for namespace in due()]


def compare_with_shadows() -> list[Job]:
    """Start to compare wherever a shadow has something to look at."""
    shadows = Shadow.objects.select_related("namespace").order_by("namespace_id")
    waiting = [one.namespace for one in shadows if unseen(one).exists()]
    return [start(namespace, JobKind.SHADOW, {}, by=BY, priority=PRIORITY) for namespace in waiting]


def make_days_for_traces() -> list[str]:
    """Have a partition for each of the next days; what comes on another day lies in the default one meanwhile."""
    return ensure_partitions(timezone.now().date(), AHEAD)


def drop_old_traces() -> list[str]:
    """Let go of the days that are past their retention."""
    return drop_partitions(timezone.now().date() - timedelta(days=settings.RECALL_TRACE_DAYS))


def changed(namespace: Namespace) -> bool:
    """Tell whether anything has changed since the last reflection began, if only by the passing of time."""
    done = Job.objects.within(namespace).filter(state=JobState.DONE)
    last = done.filter(kind=JobKind.REFLECT).order_by("created_at", "id").last()
    if last is None or last.started_at is None:
        return Memory.objects.within(namespace).exists()
    if done.filter(kind=JobKind.REEMBED, finished_at__gte=last.started_at).exists():
        return True
    if due_to_give_way(namespace).exists():
        return True
    since = first_id_at(last.started_at)
    return any(table.objects.within(namespace).filter(id__gte=since).exists() for table in TRACES)
