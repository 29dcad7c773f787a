"""Import judged queries."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from memories.management.arguments import existing_namespace, slug_argument
from memories.models import JudgementSet, Namespace
from memories.tuning import trec
from memories.tuning.judgement_store import NewQuery, store_queries
from memories.tuning.memory_references import METADATA_PREFIX
from memories.tuning.parsed_judgements import ParsedJudgements
from memories.web.judgement_import import parse_judgement_lines, valid_queries
from memories.web.validation_errors import flatten_errors

CALLER = "import_judgements"
MAX_NAME_LENGTH: int = JudgementSet._meta.get_field("name").max_length or 0


class Command(BaseCommand):
    """Import a file of judged queries into a set, all or nothing."""

    help = (
        "Import judged queries: JSON Lines as export_judgements writes them, or with --qrels a TREC file of queries "
        "(qid, tab, text). All lines are validated first; if one is invalid, nothing is stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace")
        parser.add_argument("file", type=Path, help="the queries")
        parser.add_argument("--set", dest="name", help="the set, created if missing; default: the file's name")
        parser.add_argument("--qrels", type=Path, help="a TREC qrels file (qid 0 docid grade)")
        parser.add_argument("--docid", default=trec.MEMORY_ID, help="what a docid is: id, or metadata.<key>")
        parser.add_argument("--dry-run", action="store_true", help="validate everything, store nothing")

    def handle(self, *args: Any, slug: str, file: Path, **options: Any) -> None:
        namespace = existing_namespace(slug)
        name = options["name"] or file.stem
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise CommandError(f"The set's name must have 1 to {MAX_NAME_LENGTH} characters; got {name!r}.")
        try:
            queries = valid_queries(self.parse_files(namespace, file, options["qrels"], options["docid"]))
        except ValidationError as error:
            problems = list(flatten_errors(error.detail))
            for problem in problems:
                self.stderr.write(f"{problem['at']}: {problem['message']}")
            raise CommandError(f"{len(problems)} errors: nothing was stored.") from error
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
        self.stdout.write(self.store(namespace, name, queries, dry_run=options["dry_run"]))

    def parse_files(self, namespace: Namespace, file: Path, qrels: Path | None, docid: str) -> ParsedJudgements:
        """Parse the files."""
        if qrels is None:
            with file.open("rb") as stream:
                return parse_judgement_lines(namespace, stream)
        if docid != trec.MEMORY_ID and not docid.startswith(METADATA_PREFIX):
            raise CommandError(f"--docid must be {trec.MEMORY_ID}, or {METADATA_PREFIX} and a key; got {docid}.")
        try:
            return trec.read_trec(namespace, file.read_text("utf-8"), qrels.read_text("utf-8"), docid)
        except UnicodeDecodeError as error:
            raise CommandError(f"Both files must be UTF-8; got 0x{error.object[error.start]:02x}.") from error

    def store(self, namespace: Namespace, name: str, queries: list[NewQuery], *, dry_run: bool) -> str:
        """Store the queries and return a summary."""
        if dry_run:
            grades = sum(len(query.grades) for query in queries)
            return f"{len(queries)} queries with {grades} grades can be stored in “{name}”; nothing was stored."
        judgement_set, _ = JudgementSet.objects.get_or_create(namespace=namespace, name=name)
        stored = store_queries(judgement_set, queries, by=CALLER)
        return f"{len(queries)} queries in “{name}”, {stored.added} of them new, with {stored.grades} grades."
