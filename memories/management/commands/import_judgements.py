"""Import judged queries."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError

from memories.management.arguments import existing_namespace, namespace_slug
from memories.models import JudgementSet, Namespace
from memories.tuning import judgement_import, trec
from memories.tuning.judgement_store import NewQuery, store_queries
from memories.tuning.memory_references import METADATA_PREFIX
from memories.web.validation_errors import flatten_errors as flat

CALLER = "import_judgements"
MAX_NAME_LENGTH: int = JudgementSet._meta.get_field("name").max_length or 0


class Command(BaseCommand):
    """Read a file of judged queries into a set, all of it or nothing."""

    help = (
        "Import judged queries: JSON lines as export_judgements writes them, or TREC's file of queries (qid, tab, "
        "text) with --qrels. All lines are checked first; with one wrong, nothing is kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=namespace_slug, help="the namespace")
        parser.add_argument("file", type=Path, help="the queries")
        parser.add_argument("--set", dest="name", help="the set; without it, the file's name; made if it is missing")
        parser.add_argument("--qrels", type=Path, help="TREC's file of judgements (qid 0 docid grade)")
        parser.add_argument("--docid", default=trec.MEMORY_ID, help="what a docid is: id, or metadata.<key>")
        parser.add_argument("--dry-run", action="store_true", help="check everything, keep nothing")

    def handle(self, *args: Any, slug: str, file: Path, **options: Any) -> None:
        namespace = existing_namespace(slug)
        name = options["name"] or file.stem
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise CommandError(f"The set's name must have 1 to {MAX_NAME_LENGTH} characters; got {name!r}.")
        try:
            brought = self.parse_files(namespace, file, options["qrels"], options["docid"]).or_raise()
        except ValidationError as error:
            problems = list(flat(error.detail))
            for one in problems:
                self.stderr.write(f"{one['at']}: {one['message']}")
            raise CommandError(f"{len(problems)} mistakes: nothing was kept.") from error
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}.") from error
        self.stdout.write(self.store(namespace, name, brought, dry_run=options["dry_run"]))

    def parse_files(
        self, namespace: Namespace, file: Path, qrels: Path | None, docid: str
    ) -> judgement_import.ParsedJudgements:
        """What the files hold."""
        if qrels is None:
            with file.open("rb") as stream:
                return judgement_import.parse_judgement_lines(namespace, stream)
        if docid != trec.MEMORY_ID and not docid.startswith(METADATA_PREFIX):
            raise CommandError(f"--docid must be {trec.MEMORY_ID}, or {METADATA_PREFIX} and a key; got {docid}.")
        try:
            return trec.read_trec(namespace, file.read_text("utf-8"), qrels.read_text("utf-8"), docid)
        except UnicodeDecodeError as error:
            raise CommandError(f"Both files must be UTF-8; got 0x{error.object[error.start]:02x}.") from error

    def store(self, namespace: Namespace, name: str, queries: list[NewQuery], *, dry_run: bool) -> str:
        """Keep it, and say what came of it."""
        if dry_run:
            grades = sum(len(one.grades) for one in queries)
            return f"{len(queries)} queries with {grades} grades can be kept in “{name}”; nothing was kept."
        judged, _ = JudgementSet.objects.get_or_create(namespace=namespace, name=name)
        kept = store_queries(judged, queries, by=CALLER)
        return f"{len(queries)} queries in “{name}”, {kept.added} of them new, with {kept.grades} grades."
