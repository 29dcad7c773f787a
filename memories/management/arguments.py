"""What the commands take, checked at the edge."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from memories.models import Namespace


def namespace_slug(text: str) -> str:
    """Refuse what cannot name a namespace."""
    try:
        Namespace._meta.get_field("slug").run_validators(text)
    except ValidationError as error:
        raise ArgumentTypeError(f"{' '.join(error.messages)} Got {text!r}.") from error
    return text


def existing_namespace(slug: str) -> Namespace:
    """Find a namespace that must be there."""
    namespace = Namespace.objects.filter(slug=slug).first()
    if namespace is None:
        known = ", ".join(Namespace.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no namespace {slug}: choose an existing one ({known}).")
    return namespace


def positive_int(text: str) -> int:
    """Refuse all but whole numbers from 1."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"must be a whole number from 1; got {text!r}")
    return int(text)


def int_up_to(maximum: int) -> Callable[[str], int]:
    """Refuse all but whole numbers from 1 to the most that is allowed."""

    def read(text: str) -> int:
        if (number := positive_int(text)) > maximum:
            raise ArgumentTypeError(f"must be a whole number from 1 to {maximum}; got {text!r}")
        return number

    return read
