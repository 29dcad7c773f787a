"""Refusals that the REST framework has no exception for."""

from collections.abc import Mapping, Sequence

from rest_framework.exceptions import APIException, ValidationError

from scoring.params import ParamsError


class Refusal(APIException):
    """A failure with the places that caused it."""

    def __init__(self, detail: str, *, errors: Sequence[Mapping[str, str]] = (), code: str | None = None) -> None:
        super().__init__(detail, code)
        self.errors = errors


def wrong_params(error: ParamsError) -> ValidationError:
    """Values outside their declarations, each at its place."""
    return ValidationError({"params": {one.at: [one.message] for one in error.problems}})


class Malformed(Refusal):
    """The body cannot be read."""

    status_code = 400
    default_code = "parse_error"


class Conflict(Refusal):
    """What is there already stands against it."""

    status_code = 409
    default_code = "conflict"


class Running(Conflict):
    """The same is being done right now."""

    default_code = "still_running"
    wait = 1  # seconds, told as Retry-After


class TooLarge(Refusal):
    """The body is larger than this address takes."""

    status_code = 413
    default_code = "too_large"


class TooOften(Refusal):
    """The caller has used up what it may ask for now."""

    status_code = 429
    default_code = "throttled"

    def __init__(self, detail: str, wait: int) -> None:
        super().__init__(detail)
        self.wait = wait  # seconds, told as Retry-After
