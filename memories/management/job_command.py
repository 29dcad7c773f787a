"""Base of the commands that submit a job, or run it in this process."""

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
from memories.management.arguments import existing_namespace, slug_argument
from memories.models import Job, Namespace
from memories.models.choices import JobKind, JobState

CALLER = "command line"


class JobCommand(BaseCommand):
    """A command for one kind of job."""

    kind: JobKind

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("--now", action="store_true", help="run it in this process and print its progress")

    def submit(self, slug: str, params: dict[str, Any], *, now: bool) -> None:
        """Submit the job, or find the unfinished one; with `now`, run it to its end."""
        namespace = existing_namespace(slug)
        # Other workers do not see a private queue; if this process dies, they get its job.
        queue = f"{QUEUE} {uuid4().hex}" if now else QUEUE
        try:
            job = submit_job(namespace, self.kind, params, by=CALLER, queue=queue)
        except BusyError as error:
            raise CommandError(str(error)) from error
        if now:
            self.run_now(namespace, job, queue)
            return
        self.stdout.write(f"Queued as job {job.id} for a worker; its progress is at /api/v1/{slug}/jobs/{job.id}/")

    def run_now(self, namespace: Namespace, job: Job, queue: str) -> None:
        """Run this one job until it is done or fails."""
        if not move_job(job, queue):
            raise CommandError(f"A worker already runs job {job.id}: see /api/v1/{namespace}/jobs/{job.id}/")
        try:
            with worker_connector():
                asyncio.run(self.run_queue(queue))
        finally:
            move_job(job, QUEUE)
        self.print_result(Job.objects.within(namespace).get(id=job.id))

    async def run_queue(self, queue: str) -> None:
        """Run a worker until a queue is empty."""
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
        """Overwrite the last line with the job's progress."""
        amount = f"{job.done} of {job.total}" if job.total else str(job.done)
        ending = "\r" if sys.stderr.isatty() else "\n"
        self.stderr.write(f"{job_completion(job):4.0%}  {job.step}: {amount}        ", ending=ending)

    def print_result(self, job: Job) -> None:
        """Print the counts of each step; raises CommandError if the job is not done."""
        if job.state == JobState.FAILED:
            raise CommandError(f"The job {job.id} failed: {job.error}")
        if job.state != JobState.DONE:
            why = job.error or "it was stopped, or another job of the namespace comes first"
            raise CommandError(f"The job {job.id} is not done ({why}); a worker will resume it.")
        for step in job_steps(job):
            result = job.result.get(step, {}).items()
            counts = [f"{name} {value}" for name, value in result if isinstance(value, int)]
            self.stdout.write(f"{step}: {', '.join(counts) or 'nothing to do'}")
