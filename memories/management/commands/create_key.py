"""Make an API key."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import namespace_slug, positive_int
from memories.models import Namespace
from memories.models.choices import Role
from memories.web.api_keys import issue_key


class Command(BaseCommand):
    """Make a key to a namespace and print it, alone, on standard output."""

    help = "Make a key to a namespace. The key alone goes to standard output, this once; only its hash is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=namespace_slug, help="the namespace it opens")
        parser.add_argument("--role", choices=Role.values, required=True, help="what its holder may do")
        parser.add_argument("--name", default="made on the command line", help="what the Keys page calls it")
        parser.add_argument(
            "--expires-days", type=positive_int, metavar="N", help="how long it works; without it, forever"
        )

    def handle(self, *args: Any, slug: str, role: str, name: str, expires_days: int | None, **options: Any) -> None:
        namespace = Namespace.objects.filter(slug=slug).first()
        if namespace is None:
            known = ", ".join(Namespace.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no namespace {slug}: choose an existing one ({known}) or create_namespace.")
        key, plain = issue_key(
            namespace, name=name, role=role, lifetime=timedelta(days=expires_days) if expires_days else None
        )
        until = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "until it is revoked"
        self.stderr.write(f"A key to {slug}, role {role}, {until}; it is shown only now:")
        self.stdout.write(plain)
