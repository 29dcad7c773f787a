"""Switch a namespace to another embedder."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memories.management.job_command import JobCommand
from memories.models.choices import JobKind
from memories.providers.embedder import ALLOWED
from memories.writing.rebuild import embedder_error


class Command(JobCommand):
    """Re-embed a namespace and switch to the new embedder."""

    help = (
        "Re-embed all memories of a namespace with another embedder and switch without downtime. "
        "A large namespace gets an index of the new vectors before the switch."
    )
    kind = JobKind.REEMBED

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--embedder", required=True, metavar="NAME", help=ALLOWED)

    def handle(self, *args: Any, slug: str, embedder: str, now: bool, **options: Any) -> None:
        if message := embedder_error(embedder):
            raise CommandError(f"--embedder {message}")
        self.submit(slug, {"embedder": embedder}, now=now)
