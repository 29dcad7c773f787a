"""Export a namespace."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import existing_namespace, slug_argument
from memories.transfer.export import export_namespace


class Command(BaseCommand):
    """Write all data of a namespace as JSON Lines."""

    help = "Write all data of a namespace, from one snapshot, as JSON Lines that import_memories restores."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("file", nargs="?", help="a new file; default: standard output")
        parser.add_argument("--without-vectors", action="store_true", help="smaller; a restore re-embeds the texts")

    def handle(self, *args: Any, slug: str, file: str | None, without_vectors: bool, **options: Any) -> None:
        lines = export_namespace(existing_namespace(slug), vectors=not without_vectors)
        if file is None:
            for line in lines:
                self.stdout.write(line)
            return
        try:
            # Readable by its owner only: it contains everything.
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                count = sum(1 for line in lines if out.write(f"{line}\n"))
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"{count} lines, {Path(file).stat().st_size} bytes.")
