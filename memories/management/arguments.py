"""Argument types shared by the commands."""

from argparse import ArgumentTypeError
from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from memories.models import Namespace


def slug_argument(text: str) -> str:
    """A valid slug of a namespace."""
    try:
        Namespace._meta.get_field("slug").run_validators(text)
    except ValidationError as error:
        raise ArgumentTypeError(f"{' '.join(error.messages)} Got {text!r}.") from error
    return text


def existing_namespace(slug: str, *, otherwise: str = "", returncode: int = 1) -> Namespace:
    """The namespace of a slug; raises CommandError with advice, including `otherwise`, if it does not exist."""
    namespace = Namespace.objects.filter(slug=slug).first()
    if namespace is None:
        advice = f"choose an existing one ({known_slugs()}){f' or {otherwise}' if otherwise else ''}"
        raise CommandError(f"There is no namespace {slug}: {advice}.", returncode=returncode)
    return namespace


def known_slugs() -> str:
    """The slugs of all namespaces, comma-separated."""
    return ", ".join(Namespace.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"


def positive_int(text: str) -> int:
    """A whole number from 1."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"must be a whole number from 1; got {text!r}")
    return int(text)


def int_up_to(maximum: int) -> Callable[[str], int]:
    """A whole number from 1 to a maximum."""

    def parse(text: str) -> int:
        if (number := positive_int(text)) > maximum:
            raise ArgumentTypeError(f"must be a whole number from 1 to {maximum}; got {text!r}")
        return number

    return parse
