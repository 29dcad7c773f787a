"""Rebuild the shipped export of the demo world."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from memories.demo import world_export
from memories.demo.loader import write_demo_world
from memories.models import Namespace

SLUG = "demo-export"


class Command(BaseCommand):
    """Write the demo world from its sources and export it; the database stays as it was."""

    help = "Rebuild the demo world's export from memories/demo/*.jsonl, with RECALL_EMBEDDER (about a minute)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, default=world_export.EXPORT, help="default: the shipped file")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if Namespace.objects.filter(slug=SLUG).exists():
            raise CommandError(f"The namespace {SLUG} exists already: rename it, the export is built under this slug.")
        with transaction.atomic():
            count = world_export.save_export(write_demo_world(SLUG), file)
            transaction.set_rollback(True)
        self.stdout.write(f"{count} lines, {file.stat().st_size} bytes in {file}.")
