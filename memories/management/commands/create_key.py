"""Create an API key."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memories.management.arguments import existing_namespace, positive_int, slug_argument
from memories.models.choices import Role
from memories.web.api_keys import issue


class Command(BaseCommand):
    """Create a key for a namespace and print it, alone, on standard output."""

    help = "Create a key for a namespace. Prints the key, alone, to standard output; only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=slug_argument, help="the namespace it opens")
        parser.add_argument("--role", choices=Role.values, required=True, help="its role")
        parser.add_argument("--name", default="made on the command line", help="its name on the Keys page")
        parser.add_argument(
            "--expires-days", type=positive_int, metavar="N", help="days until it expires; default: never"
        )

    def handle(self, *args: Any, slug: str, role: str, name: str, expires_days: int | None, **options: Any) -> None:
        namespace = existing_namespace(slug, otherwise="create_namespace")
        key, plain = issue(
            namespace, name=name, role=role, lasts=timedelta(days=expires_days) if expires_days else None
        )
        until = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "until it is revoked"
        self.stderr.write(f"A key for {slug}, role {role}, {until}; it is shown only now:")
        self.stdout.write(plain)
