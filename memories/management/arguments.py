"""What the commands take, checked at the edge."""

from argparse import ArgumentTypeError

from django.core.exceptions import ValidationError

from memories.models import Namespace


def namespace_slug(text: str) -> str:
    """Refuse what cannot name a namespace."""
    try:
        Namespace._meta.get_field("slug").run_validators(text)
    except ValidationError as error:
        raise ArgumentTypeError(f"{' '.join(error.messages)} Got {text!r}.") from error
    return text


def positive(text: str) -> int:
    """Refuse all but whole numbers from 1."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise ArgumentTypeError(f"must be a whole number from 1; got {text!r}")
    return int(text)
