"""Make a namespace."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memories.management.arguments import namespace_slug
from memories.members import create_namespace
from memories.models import Namespace
from memories.models.choices import Mode


class Command(BaseCommand):
    """Make an empty namespace, and let its first member in."""

    help = "Make an empty namespace; with --member, a user becomes its first admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", type=namespace_slug, help="its name in addresses")
        parser.add_argument("--title", default="", help="its name on pages; the slug if not given")
        parser.add_argument("--mode", choices=Mode.values, default=Mode.GENERAL, help="what it is for")
        parser.add_argument("--member", metavar="USERNAME", help="a user who becomes its admin")
        parser.add_argument(
            "--redact", action="store_true", help="black out keys, card numbers and e-mail addresses before storing"
        )

    def handle(
        self, *args: Any, slug: str, title: str, mode: str, member: str | None, redact: bool, **options: Any
    ) -> None:
        if Namespace.objects.filter(slug=slug).exists():
            raise CommandError(f"The namespace {slug} exists already: choose another slug.")
        user = get_user_model().objects.filter(username=member).first() if member else None
        if member and user is None:
            raise CommandError(f"There is no user {member}: create one first, with createsuperuser or in the admin.")
        try:
            create_namespace(slug, title=title, mode=mode, redacts=redact, admin=user)
        except ValidationError as error:
            raise CommandError(f"The namespace {slug} cannot be made: {' '.join(error.messages)}") from error
        self.stdout.write(f"Created the namespace {slug}{f', with {member} as admin' if member else ''}.")
