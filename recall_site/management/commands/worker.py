"""Run the worker for jobs."""

from argparse import SUPPRESS
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from memories.jobs.worker_process import run_worker
from memories.management.arguments import positive_int
from recall_site.postgres import Postgres
from recall_site.postgres_monitor import PostgresMonitor


class Command(BaseCommand):
    """Run jobs from the queue until stopped."""

    help = "Run jobs such as reflection and re-embedding until stopped; make run has a worker of its own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--beside", type=positive_int, help=SUPPRESS)  # the site's process id; ends with it

    def handle(self, *args: Any, beside: int | None, **options: Any) -> None:
        embedded = settings.EMBEDDED_POSTGRES and beside is None
        monitor = PostgresMonitor(Postgres(settings.DATA)) if embedded else None
        if monitor:
            monitor.start()
        try:
            run_worker(beside)
        finally:
            if monitor:
                monitor.stop()
