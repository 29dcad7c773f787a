"""Reflect on a namespace."""

from typing import Any

from django.core.management.base import CommandParser

from memories.management.job_command import JobCommand
from memories.models.choices import JobKind


class Command(JobCommand):
    """Run a reflection."""

    help = "Finish due supersessions; find contradictions, summaries, drift and doubted memories; cluster all facts."
    kind = JobKind.REFLECT

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--full", action="store_true", help="cover everything, not only what changed")
        parser.add_argument("--archive", action="store_true", help="archive doubted memories instead of listing them")

    def handle(self, *args: Any, slug: str, full: bool, archive: bool, now: bool, **options: Any) -> None:
        params = {name: True for name, is_set in {"full": full, "archive": archive}.items() if is_set}
        self.submit(slug, params, now=now)
