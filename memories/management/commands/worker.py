"""Do long work."""

from argparse import SUPPRESS
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from memories.jobs.worker_process import run_worker
from memories.management.arguments import positive_int
from recall_site.postgres import Postgres
from recall_site.postgres_watch import Watch


class Command(BaseCommand):
    """Take jobs out of the queue until it is stopped."""

    help = "Do long work such as reflecting and re-embedding until stopped; make run has a worker of its own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--beside", type=positive_int, help=SUPPRESS)  # the site's process id, and an end with it

    def handle(self, *args: Any, beside: int | None, **options: Any) -> None:
        watch = Watch(Postgres(settings.DATA)) if settings.EMBEDDED_POSTGRES and beside is None else None
        if watch:
            watch.start()
        try:
            run_worker(beside)
        finally:
            if watch:
                watch.end()
