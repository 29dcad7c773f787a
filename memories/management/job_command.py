"""What the commands for long work share: queue it, or do it here and now."""

import asyncio
import sys
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from procrastinate.contrib.django import app

from memories.jobs.job_queue import QUEUE, move_job
from memories.jobs.registry import job_completion, job_steps
from memories.jobs.submission import BusyError, submit_job
from memories.jobs.worker_process import worker_connector
from memories.management.arguments import existing_namespace, namespace_slug
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState

CALLER = "command line"


class JobCommand(BaseCommand):
    """A command that has one kind of job done in a namespace."""

    kind: JobKind

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=namespace_slug, help="the namespace")
        parser.add_argument("--now", action="store_true", help="do it in this process, telling how far it is")

    def submit(self, slug: str, params: dict[str, Any], *, now: bool) -> None:
        """Start the job, or take the one that waits; see it through if asked to."""
        namespace = existing_namespace(slug)
        # A queue of its own keeps other workers off; should this process die, its job goes to theirs.
        queue = f"{QUEUE} {uuid4().hex}" if now else QUEUE
        try:
            job = submit_job(namespace, self.kind, params, by=CALLER, queue=queue)
        except BusyError as error:
            raise CommandError(str(error)) from error
        if now:
            self.run_now(namespace, job, queue)
            return
        self.stdout.write(f"Queued as job {job.id}. A worker does it; watch it at /api/v1/{slug}/jobs/{job.id}/")

    def run_now(self, namespace: Namespace, job: Job, queue: str) -> None:
        """Work at this one job until it is done or fails."""
        if not move_job(job, queue):
            raise CommandError(f"A worker has the job {job.id} already; watch it at /api/v1/{namespace}/jobs/{job.id}/")
        try:
            with worker_connector():
                asyncio.run(self.run_queue(queue))
        finally:
            move_job(job, QUEUE)
        self.print_result(Job.objects.within(namespace).get(id=job.id))

    async def run_queue(self, queue: str) -> None:
        """Be a worker for one queue, as long as there is something in it."""
        async with app.open_async():
            await app.run_worker_async(
                queues=[queue],
                wait=False,
                listen_notify=False,
                shutdown_graceful_timeout=0.0,
                delete_jobs="always",
                additional_context={"on_progress": self.print_progress},
            )

    def print_progress(self, job: Job) -> None:
        """Write over the line before it how far the job is."""
        amount = f"{job.done} of {job.total}" if job.total else str(job.done)
        ending = "\r" if sys.stderr.isatty() else "\n"
        self.stderr.write(f"{job_completion(job):4.0%}  {job.step}: {amount}        ", ending=ending)

    def print_result(self, job: Job) -> None:
        """Say what came of it."""
        if job.state == JobState.FAILED:
            raise CommandError(f"The job {job.id} failed: {job.error}")
        if job.state != JobState.DONE:
            why = job.error or "it was stopped, or other work of the namespace comes first"
            raise CommandError(f"The job {job.id} is not done ({why}); a worker goes on with it.")
        for step in job_steps(job):
            found = job.result.get(step, {}).items()
            counts = [f"{name} {value}" for name, value in found if isinstance(value, int)]
            self.stdout.write(f"{step}: {', '.join(counts) or 'nothing to do'}")
