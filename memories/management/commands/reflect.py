"""Reflect upon a namespace."""

from typing import Any

from django.core.management.base import CommandParser

from memories.management.job_command import JobCommand
from memories.models.choices import JobKind


class Command(JobCommand):
    """Look at all that a namespace holds."""

    help = "Supersede what is due; look for contradictions, groups, drift and what can be archived; group a namespace."
    kind = JobKind.REFLECT

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--full", action="store_true", help="look at everything, not at what is new alone")
        parser.add_argument("--archive", action="store_true", help="archive what is only listed otherwise")

    def handle(self, *args: Any, slug: str, full: bool, archive: bool, now: bool, **options: Any) -> None:
        params = {name: True for name, wanted in {"full": full, "archive": archive}.items() if wanted}
        self.submit(slug, params, now=now)
