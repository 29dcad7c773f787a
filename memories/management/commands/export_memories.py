"""Export a namespace."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memories.management.arguments import existing_namespace, slug_argument
from memories.management.line_files import write_new_file
from memories.transfer.export import export_namespace

OWNER_ONLY = 0o600  # the file contains everything


class Command(BaseCommand):
    """Write all data of a namespace as JSON Lines."""

    help = "Write all data of a namespace, from one snapshot, as JSON Lines that import_memories restores."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("file", nargs="?", type=Path, help="a new file; default: standard output")
        parser.add_argument("--without-vectors", action="store_true", help="smaller; a restore re-embeds the texts")

    def handle(self, *args: Any, slug: str, file: Path | None, without_vectors: bool, **options: Any) -> None:
        lines = export_namespace(existing_namespace(slug), vectors=not without_vectors)
        if file is None:
            for line in lines:
                self.stdout.write(line)
            return
        count = write_new_file(file, lines, mode=OWNER_ONLY)
        self.stderr.write(f"{count} lines, {file.stat().st_size} bytes.")
