"""Work by the clock: reflection at night, large namespaces indexed, shadows asked, traces kept for their time."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from memories.ids import first_id_at
from memories.jobs.submission import BusyError, submit_job
from memories.models import Entity, EntityAlias, Job, Memory, Namespace, Publication, ScoreEvent, Shadow
from memories.models.choices import JobKind, JobState
from memories.models.partitions import drop_partitions, ensure_partitions
from memories.tuning.shadow import unseen_traces
from memories.writing.rebuild import namespaces_to_index
from memories.writing.supersede import due_supersessions as due_to_give_way

CALLER = "schedule"
PRIORITY = -10  # what people ask for goes first
PARTITION_DAYS = 3  # days, today among them, that are ready for traces
# Whatever changes in a namespace leaves one of these, under an identifier that sorts by time.
CHANGE_TABLES = (ScoreEvent, Entity, EntityAlias, Publication)


def start_due_reflections() -> list[Job]:
    """Start to reflect where something has changed; a namespace with a clock of its own has no nights."""
    jobs = []
    for namespace in Namespace.objects.filter(clock=None).order_by("id"):
        if changed_since_reflection(namespace):
            try:
                jobs.append(submit_job(namespace, JobKind.REFLECT, {}, by=CALLER, priority=PRIORITY))
            except BusyError:
                continue
    return jobs


def start_due_indexing() -> list[Job]:
    """Start to index where a namespace has outgrown scanning."""
    return [
        submit_job(namespace, JobKind.INDEX, {}, by=CALLER, priority=PRIORITY) for namespace in namespaces_to_index()
    ]


def start_shadow_comparisons() -> list[Job]:
    """Start to compare wherever a shadow has something to look at."""
    shadows = Shadow.objects.select_related("namespace").order_by("namespace_id")
    waiting = [one.namespace for one in shadows if unseen_traces(one).exists()]
    return [submit_job(namespace, JobKind.SHADOW, {}, by=CALLER, priority=PRIORITY) for namespace in waiting]


def ensure_trace_partitions() -> list[str]:
    """Have a partition for each of the next days; what comes on another day lies in the default one meanwhile."""
    return ensure_partitions(timezone.now().date(), PARTITION_DAYS)


def drop_old_traces() -> list[str]:
    """Let go of the days that are past their retention."""
    return drop_partitions(timezone.now().date() - timedelta(days=settings.RECALL_TRACE_DAYS))


def changed_since_reflection(namespace: Namespace) -> bool:
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
    return any(table.objects.within(namespace).filter(id__gte=since).exists() for table in CHANGE_TABLES)
