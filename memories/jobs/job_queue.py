"""The queue: procrastinate's tables in the same database, so that a job is saved and enqueued in one transaction."""

from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.manager import JobManager
from procrastinate.tasks import configure_task

from memories.models import Job
from memories.models.job import EXCLUSIVE

QUEUE = "jobs"
TASK = "memories.job"
HEARTBEAT_TIMEOUT = 20.0  # seconds without a heartbeat

# On Django's connection: within a worker, procrastinate's app uses another, outside the caller's transaction.
connector = DjangoConnector()
manager = JobManager(connector)

MOVE_SQL = """
    UPDATE procrastinate_jobs SET queue_name = %(queue)s, scheduled_at = NULL
    WHERE task_name = %(task)s AND args ->> 'job' = %(job)s AND status = 'todo' RETURNING id
"""
ENQUEUED_SQL = """
    SELECT id FROM procrastinate_jobs
    WHERE task_name = %(task)s AND args ->> 'job' = %(job)s
        AND (status = 'doing' OR status = 'todo' AND queue_name = %(queue)s)
"""
# Jobs of workers that are gone or have missed their heartbeat.
REVIVE_SQL = """
    SELECT procrastinate_retry_job_v2(dead.id, now(), NULL, %(queue)s, NULL) FROM (
        SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
        WHERE job.status = 'doing'
            AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %(dead)s))
        FOR UPDATE OF job SKIP LOCKED
    ) dead
"""


def enqueue_job(job: Job, *, queue: str = QUEUE, priority: int = 0) -> None:
    """Enqueue a job in the caller's transaction."""
    # Exclusive kinds wait for each other within a namespace.
    lock = str(job.namespace_id) if job.kind in EXCLUSIVE else None
    configured = configure_task(name=TASK, job_manager=manager, queue=queue, lock=lock, priority=priority)
    configured.defer(namespace=str(job.namespace_id), job=str(job.id))


def move_job(job: Job, queue: str) -> bool:
    """Move a waiting job to another queue, due at once; returns whether it was waiting."""
    return bool(connector.execute_query_all(MOVE_SQL, queue=queue, task=TASK, job=str(job.id)))


def is_enqueued(job: Job) -> bool:
    """Whether a job runs, or waits in the common queue."""
    return bool(connector.execute_query_all(ENQUEUED_SQL, queue=QUEUE, task=TASK, job=str(job.id)))
