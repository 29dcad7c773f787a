"""Import memories, or restore an export."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from memories.management.arguments import existing_namespace, int_up_to, slug_argument
from memories.management.progress_bar import ProgressBar
from memories.models import Namespace
from memories.transfer.checkpoint import ImportStoppedError
from memories.transfer.import_file import FileImport
from memories.transfer.import_lines import LineOutcome
from memories.web.memory_body import validate_memories

DEFAULT_BATCH, MAX_BATCH = 500, 2_000  # lines per transaction, during which other writers wait
STDIN = "-"


class Command(BaseCommand):
    """Import a JSON Lines file into a namespace, from where the last attempt stopped."""

    help = (
        "Import JSON Lines: memories, each as POST memories/ takes it, or a namespace as export_memories writes it. "
        "After an interruption, run the same command again: it resumes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace; it must be empty to restore an export")
        parser.add_argument("file", help="the file, or - for standard input")
        parser.add_argument("--create", action="store_true", help="create the namespace if it is missing")
        parser.add_argument(
            "--dry-run", action="store_true", help="print the outcomes, store nothing; blocks other writes"
        )
        parser.add_argument(
            "--batch", type=int_up_to(MAX_BATCH), metavar="N", default=DEFAULT_BATCH, help="lines per transaction"
        )
        parser.add_argument("--errors", metavar="FILE", help="file for refused lines; default: standard error")
        parser.add_argument("--restart", action="store_true", help="start again at the first line")

    def handle(self, *args: Any, slug: str, file: str, create: bool, dry_run: bool, **options: Any) -> None:
        with ExitStack() as stack:
            stream = stack.enter_context(open_input(file))
            self.errors = stack.enter_context(open(options["errors"], "a")) if options["errors"] else None
            stack.enter_context(dry_run_transaction(dry_run))
            try:
                file_import = self.run_import(get_or_create_namespace(slug, create), file, stream, options)
            except ImportStoppedError as error:
                raise CommandError(str(error)) from error
            self.report(file_import, dry_run)

    def run_import(self, namespace: Namespace, file: str, stream: IO[bytes], options: dict[str, Any]) -> FileImport:
        """Import the whole file and show progress."""
        name = STDIN if file == STDIN else Path(file).name
        file_import = FileImport.begin(
            namespace, name, stream, restart=options["restart"], by="import_memories", validate=validate_memories
        )
        checkpoint = file_import.checkpoint
        total = Path(file).stat().st_size if stream.seekable() and file != STDIN else None
        progress = ProgressBar(self.stderr, total, file_import.resumed_at, checkpoint.position["bytes"])
        for line in file_import.run(options["batch"], self.print_problems):
            progress.update(line, checkpoint.position["bytes"], checkpoint.counts)
        progress.update(file_import.reader.number, file_import.reader.size, checkpoint.counts, last=True)
        return file_import

    def print_problems(self, outcomes: list[LineOutcome]) -> None:
        """Print the problems of refused lines."""
        for outcome in outcomes:
            for problem in outcome.get("problems", ()):
                text = f"line {outcome['line']}: {problem['at']}: {problem['message']}"
                if self.errors:
                    print(text, file=self.errors, flush=True)
                else:
                    self.stderr.write(text)

    def report(self, file_import: FileImport, dry_run: bool) -> None:
        """Print the counts; refused lines make the command fail."""
        outcomes = file_import.checkpoint.counts
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "nothing in it"
        resumed = f"; the first {file_import.resumed_at} were imported before" if file_import.resumed_at else ""
        suffix = "; nothing is stored" if dry_run else ""
        self.stdout.write(f"{file_import.reader.number} lines: {counts}{resumed}{suffix}.")
        if refused := outcomes.get("refused"):
            raise CommandError(f"{refused} lines were refused.")


def get_or_create_namespace(slug: str, create: bool) -> Namespace:
    """The namespace of a slug; with `create`, a new one if it is missing."""
    if create and not Namespace.objects.filter(slug=slug).exists():
        return Namespace.objects.create(slug=slug, title=slug, embedder=settings.RECALL_EMBEDDER)
    return existing_namespace(slug, otherwise="pass --create")


@contextmanager
def open_input(file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of standard input."""
    if file == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with open(file, "rb") as stream:
            yield stream
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error


@contextmanager
def dry_run_transaction(dry_run: bool) -> Iterator[None]:
    """Roll back a dry run; one transaction, so that later batches see earlier ones."""
    if not dry_run:
        yield
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
