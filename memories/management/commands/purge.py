"""Erase forgotten memories for good."""

from argparse import ArgumentTypeError
from collections import Counter
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from memories.maintenance.erase import Erasure
from memories.maintenance.erase_records import erase_expired_records
from memories.maintenance.erasure_scope import forgotten_before
from memories.management.arguments import known_slugs, slug_argument
from memories.models import Memory, Namespace

DEFAULT_DAYS = 30
NOT_VACUUMED = "No query returns it any more; the bytes stay on disk until Postgres vacuums (now: --vacuum)."
VACUUMED = "Vacuumed. Backups, the write-ahead log and free blocks may hold bytes until they are overwritten."


class Command(BaseCommand):
    """Erase memories and everything that contains them."""

    help = (
        "Erase memories that were forgotten long enough ago, and everything that contains them: vectors, history, "
        "traces, idempotency records, judgements. Other memories keep their numbers; their history is redacted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slugs", nargs="*", type=slug_argument, metavar="slug", help="namespaces; default: all")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--older-than",
            type=non_negative_int,
            default=DEFAULT_DAYS,
            metavar="DAYS",
            help=f"days since they were forgotten; default: {DEFAULT_DAYS}",
        )
        what.add_argument("--memory", type=memory_uuid, metavar="ID", help="one memory, forgotten or not")
        what.add_argument("--user", metavar="NAME", help="all memories, sessions, turns and traces of a user")
        parser.add_argument(
            "--with-turns",
            action="store_true",
            help="with --memory: also the turns that no other fact comes from",
        )
        parser.add_argument("--dry-run", action="store_true", help="count what would be erased; blocks other writes")
        parser.add_argument("--vacuum", action="store_true", help="then VACUUM to free the disk space")

    def handle(self, *args: Any, slugs: list[str], dry_run: bool, vacuum: bool, **options: Any) -> None:
        if options["user"] == "":
            raise CommandError("--user must be a name; got an empty one.")
        if options["with_turns"] and not options["memory"]:
            raise CommandError("--with-turns needs --memory; --user erases all turns anyway.")
        erased = [
            self.purge(namespace, dry_run, **options) for namespace in namespaces_to_purge(slugs, options["memory"])
        ]
        if dry_run or not any(erased):
            return
        if vacuum:
            vacuum_tables()
        self.stdout.write(VACUUMED if vacuum else NOT_VACUUMED)

    def purge(self, namespace: Namespace, dry_run: bool, **options: Any) -> bool:
        """Purge one namespace and print the counts; a dry run is rolled back."""
        with transaction.atomic() if dry_run else nullcontext():
            erased = purge_namespace(namespace, **options)
            if dry_run:
                transaction.set_rollback(True)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(erased.items())) or "nothing to erase"
        self.stdout.write(f"{namespace.slug}{' (dry run)' if dry_run else ''}: {counts}.")
        return bool(erased)


def purge_namespace(
    namespace: Namespace, *, older_than: int, memory: UUID | None, user: str | None, with_turns: bool, **rest: Any
) -> Counter[str]:
    """Erase what the options select and return the erased rows by kind."""
    erasure = Erasure(namespace, user=user, with_turns=with_turns)
    if memory:
        erasure.erase([memory])
    elif user:
        erasure.erase_user()
    else:
        erasure.erase(forgotten_before(namespace, namespace.now - timedelta(days=older_than)))
    return +erasure.erased + Counter({"idempotency records": erase_expired_records(namespace)})


def namespaces_to_purge(slugs: list[str], memory: UUID | None) -> list[Namespace]:
    """The named namespaces, or all; for one memory, the one that has it."""
    known = Namespace.objects.order_by("slug")
    namespaces = list(known.filter(slug__in=slugs) if slugs else known)
    if missing := sorted(set(slugs) - {namespace.slug for namespace in namespaces}):
        raise CommandError(f"There is no namespace {', '.join(missing)}: choose existing ones ({known_slugs()}).")
    if memory is None:
        return namespaces
    owners = [namespace for namespace in namespaces if Memory.objects.within(namespace).filter(id=memory).exists()]
    if not owners:
        searched = ", ".join(namespace.slug for namespace in namespaces)
        raise CommandError(f"There is no memory {memory} in {searched}; it may have been erased.")
    return owners


def vacuum_tables() -> None:
    """VACUUM every table of this app."""
    tables = ", ".join(model._meta.db_table for model in apps.get_app_config("memories").get_models())
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM {tables}")


def non_negative_int(text: str) -> int:
    """A whole number from 0."""
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"must be a whole number from 0; got {text!r}")
    return int(text)


def memory_uuid(text: str) -> UUID:
    """The id of a memory."""
    try:
        return UUID(text)
    except ValueError as error:
        raise ArgumentTypeError(f"must be the id of a memory (a UUID); got {text!r}") from error
