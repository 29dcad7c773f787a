"""Erase for good what was forgotten."""

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
from memories.management.arguments import namespace_slug
from memories.models import Memory, Namespace

DEFAULT_DAYS = 30
NOT_VACUUMED = "No query finds it any more; its bytes stay on the disk until Postgres vacuums (now: --vacuum)."
VACUUMED = "Vacuumed. Backups, the write-ahead log and spare blocks may keep bytes until they are overwritten."


class Command(BaseCommand):
    """Erase memories, and everything that tells of them."""

    help = (
        "Erase for good the memories that were forgotten long enough ago, with everything that tells of them: vectors, "
        "history, traces, kept answers, judgements. Numbers of other memories stay; their history loses the words."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slugs", nargs="*", type=namespace_slug, metavar="slug", help="namespaces; all if none")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--older-than",
            type=non_negative_int,
            default=DEFAULT_DAYS,
            metavar="DAYS",
            help=f"how long ago they must have been forgotten; {DEFAULT_DAYS} if not given",
        )
        what.add_argument("--memory", type=memory_uuid, metavar="ID", help="one memory, forgotten or not, at once")
        what.add_argument(
            "--user", metavar="NAME", help="all of a user's memories, sessions, turns and traces, at once"
        )
        parser.add_argument(
            "--with-turns",
            action="store_true",
            help="with --memory: also the turns that say it and nothing else that is remembered",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="do it, count it and take it back; other writes wait meanwhile"
        )
        parser.add_argument("--vacuum", action="store_true", help="then VACUUM, which frees what the rows took")

    def handle(self, *args: Any, slugs: list[str], dry_run: bool, vacuum: bool, **options: Any) -> None:
        if options["user"] == "":
            raise CommandError("--user must name somebody; got an empty name.")
        if options["with_turns"] and not options["memory"]:
            raise CommandError("--with-turns needs --memory; with --user all turns go anyway.")
        found = [
            self.purge(namespace, dry_run, **options) for namespace in namespaces_to_purge(slugs, options["memory"])
        ]
        if dry_run or not any(found):
            return
        if vacuum:
            vacuum_tables()
        self.stdout.write(VACUUMED if vacuum else NOT_VACUUMED)

    def purge(self, namespace: Namespace, dry_run: bool, **options: Any) -> bool:
        """Purge one namespace and tell what went; a dry run is one transaction that is taken back."""
        with transaction.atomic() if dry_run else nullcontext():
            gone = purge_namespace(namespace, **options)
            if dry_run:
                transaction.set_rollback(True)
        told = ", ".join(f"{count} {name}" for name, count in sorted(gone.items())) or "nothing to erase"
        self.stdout.write(f"{namespace.slug}{' (dry run)' if dry_run else ''}: {told}.")
        return bool(gone)


def purge_namespace(
    namespace: Namespace, *, older_than: int, memory: UUID | None, user: str | None, with_turns: bool, **rest: Any
) -> Counter[str]:
    """Erase what was asked for, and count the rows by what they are."""
    erasure = Erasure(namespace, user=user, with_turns=with_turns)
    if memory:
        erasure.erase([memory])
    elif user:
        erasure.erase_user()
    else:
        erasure.erase(forgotten_before(namespace, namespace.now - timedelta(days=older_than)))
    return +erasure.erased + Counter({"idempotency records": erase_expired_records(namespace)})


def namespaces_to_purge(slugs: list[str], memory: UUID | None) -> list[Namespace]:
    """The namespaces to purge: those that are named, else all; of one memory, the one that has it."""
    known = Namespace.objects.order_by("slug")
    found = list(known.filter(slug__in=slugs) if slugs else known)
    if missing := sorted(set(slugs) - {namespace.slug for namespace in found}):
        there = ", ".join(known.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no namespace {', '.join(missing)}: choose existing ones ({there}).")
    if memory is None:
        return found
    having = [one for one in found if Memory.objects.within(one).filter(id=memory).exists()]
    if not having:
        searched = ", ".join(namespace.slug for namespace in found)
        raise CommandError(f"There is no memory {memory} in {searched}; perhaps it is erased already.")
    return having


def vacuum_tables() -> None:
    """Have Postgres clear away the deleted rows of every table of ours."""
    tables = ", ".join(model._meta.db_table for model in apps.get_app_config("memories").get_models())
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM {tables}")


def non_negative_int(text: str) -> int:
    """Refuse all but whole numbers from 0."""
    if not text.isascii() or not text.isdigit():
        raise ArgumentTypeError(f"must be a whole number from 0; got {text!r}")
    return int(text)


def memory_uuid(text: str) -> UUID:
    """Refuse what is no identifier."""
    try:
        return UUID(text)
    except ValueError as error:
        raise ArgumentTypeError(f"must be the id of a memory (a UUID); got {text!r}") from error
