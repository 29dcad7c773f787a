"""Scheduled work: nightly reflection, indexes of large namespaces, shadow comparisons, old traces and uploads."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from memories.db.ids import first_id_at
from memories.jobs.submission import BusyError, submit_job
from memories.maintenance.index_recall import namespaces_to_measure
from memories.models import Entity, EntityAlias, Job, Memory, Namespace, Publication, ScoreEvent, Shadow, Upload
from memories.models.choices import JobKind, JobState
from memories.models.job import UNFINISHED
from memories.models.partitions import drop_partitions, ensure_partitions
from memories.tuning.shadow import unseen_traces
from memories.writing.rebuild import namespaces_to_index
from memories.writing.supersede import due_supersessions
from memories.writing.vector_index import drop_index, unused_indexes

CALLER = "schedule"
PRIORITY = -10  # after jobs that people submit
UPLOADS_KEPT = timedelta(days=1)
PARTITION_DAYS = 3  # created ahead, today included
# Every change in a namespace adds a row to one of these; their ids sort by time.
CHANGE_TABLES = (ScoreEvent, Entity, EntityAlias, Publication)


def start_due_reflections() -> list[Job]:
    """Submit a reflection of each changed namespace, except those with a fixed clock."""
    jobs = []
    for namespace in Namespace.objects.filter(clock=None).order_by("id"):
        if changed_since_reflection(namespace):
            try:
                jobs.append(submit_job(namespace, JobKind.REFLECT, {}, by=CALLER, priority=PRIORITY))
            except BusyError:
                continue
    return jobs


def start_due_indexing() -> list[Job]:
    """Submit the indexing of namespaces that have outgrown scanning."""
    return [
        submit_job(namespace, JobKind.INDEX, {}, by=CALLER, priority=PRIORITY) for namespace in namespaces_to_index()
    ]


def drop_unused_indexes() -> list[str]:
    """Drop the indexes of namespaces that are gone or have changed their embedder."""
    names = unused_indexes()
    for name in names:
        drop_index(name)
    return names


def start_due_measurements() -> list[Job]:
    """Submit the measurement of indexes that have changed, once their vectors are indexed; it sets the effort."""
    indexing = set(namespaces_to_index())
    return [
        submit_job(namespace, JobKind.MEASURE, {}, by=CALLER, priority=PRIORITY)
        for namespace in namespaces_to_measure()
        if namespace not in indexing
    ]


def start_shadow_comparisons() -> list[Job]:
    """Submit a comparison for each shadow with new traces."""
    shadows = Shadow.objects.select_related("namespace").order_by("namespace_id")
    waiting = [shadow.namespace for shadow in shadows if unseen_traces(shadow).exists()]
    return [submit_job(namespace, JobKind.SHADOW, {}, by=CALLER, priority=PRIORITY) for namespace in waiting]


def ensure_trace_partitions() -> list[str]:
    """Create the partitions of the next days; other traces go to the default partition meanwhile."""
    return ensure_partitions(timezone.now().date(), PARTITION_DAYS)


def drop_old_traces() -> list[str]:
    """Drop the partitions past their retention."""
    return drop_partitions(timezone.now().date() - timedelta(days=settings.RECALL_TRACE_DAYS))


def delete_old_uploads() -> int:
    """Delete uploaded files after a day, unless their import is under way."""
    running = Job.objects.filter(kind=JobKind.IMPORT, state__in=UNFINISHED).values("id")
    old = Upload.objects.filter(created_at__lt=timezone.now() - UPLOADS_KEPT)
    return old.exclude(job_id__in=running).delete()[0]


def changed_since_reflection(namespace: Namespace) -> bool:
    """Whether anything has changed since the last reflection started, due supersessions included."""
    done = Job.objects.within(namespace).filter(state=JobState.DONE)
    last = done.filter(kind=JobKind.REFLECT).order_by("created_at", "id").last()
    if last is None or last.started_at is None:
        return Memory.objects.within(namespace).exists()
    if done.filter(kind=JobKind.REEMBED, finished_at__gte=last.started_at).exists():
        return True
    if due_supersessions(namespace).exists():
        return True
    since = first_id_at(last.started_at)
    return any(table.objects.within(namespace).filter(id__gte=since).exists() for table in CHANGE_TABLES)
