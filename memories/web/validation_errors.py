"""REST framework's nested validation errors as a flat list of places and messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rest_framework.exceptions import ValidationError

from scoring.params import ParamProblem

WHOLE_BODY = "body"  # the place of an error that belongs to no single field
MAX_ERRORS = 50
MAX_PLACE_CHARS = 200  # a place is made of the caller's own field names


def flatten_errors(detail: Any, at: str = "") -> Iterator[dict[str, str]]:
    """Each error with its place, such as `sources.0.level`."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            below = at if name == "non_field_errors" else f"{at}.{name}".lstrip(".")
            yield from flatten_errors(inner, below)
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for index, inner in enumerate(detail):
            yield from flatten_errors(inner, at if isinstance(inner, str) else f"{at}.{index}".lstrip("."))
    else:
        yield {"at": at or WHOLE_BODY, "message": str(detail)}


def validation_problems(error: ValidationError) -> list[ParamProblem]:
    """Validation errors in the form of parameter problems, for the templates that show both."""
    return [ParamProblem(item["at"], item["message"]) for item in flatten_errors(error.detail)]


def truncate_errors(errors: list[dict[str, str]]) -> list[dict[str, str]]:
    """The first MAX_ERRORS errors, and how many more there are."""
    first = [{**error, "at": error["at"][:MAX_PLACE_CHARS]} for error in errors[:MAX_ERRORS]]
    more = len(errors) - len(first)
    return [*first, {"at": WHOLE_BODY, "message": f"and {more} more"}] if more else first
