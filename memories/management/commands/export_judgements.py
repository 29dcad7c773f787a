"""Export judged queries."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import existing_namespace, slug_argument
from memories.management.line_files import write_new_file
from memories.models import JudgementSet
from memories.tuning.judgement_export import export_judgements


class Command(BaseCommand):
    """Write a judgement set as JSON Lines, or as TREC's two files."""

    help = "Write a judgement set as JSON Lines that import_judgements reads, or with --qrels as TREC files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("set", help="the set's name")
        parser.add_argument("file", nargs="?", type=Path, help="a new file; default: standard output")
        parser.add_argument("--qrels", type=Path, help="a new file for the TREC qrels; the other gets the queries")
        parser.add_argument(
            "--current", action="store_true", help="grades carried over to the memories that replaced the judged ones"
        )
        parser.add_argument("--by-content", action="store_true", help="name memories by their content, not their ids")

    def handle(self, *args: Any, slug: str, file: Path | None, qrels: Path | None, **options: Any) -> None:
        namespace = existing_namespace(slug)
        judgement_set = JudgementSet.objects.within(namespace).filter(name=options["set"]).first()
        if judgement_set is None:
            sets = JudgementSet.objects.within(namespace).order_by("name").values_list("name", flat=True)
            raise CommandError(f"There is no set {options['set']}: choose one of {', '.join(sets) or 'none yet'}.")
        if qrels is not None:
            self.write(qrels, export_judgements(judgement_set, "qrels", resolved=options["current"]))
        shape = "jsonl" if qrels is None else "queries"
        lines = export_judgements(judgement_set, shape, resolved=options["current"], by_content=options["by_content"])
        self.write(file, lines)

    def write(self, file: Path | None, lines: Iterable[str]) -> None:
        """Write lines to a new file, or to standard output."""
        if file is None:
            for line in lines:
                self.stdout.write(line)
            return
        self.stderr.write(f"{write_new_file(file, lines)} lines in {file}.")
