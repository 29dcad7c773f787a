"""HTTP errors that REST framework has no exception for."""

from collections.abc import Mapping, Sequence

from rest_framework.exceptions import APIException, ValidationError

from memories.writing.write_errors import NotFoundError
from scoring.params import ParamsError


class ApiRefusal(APIException):
    """An error with the fields that caused it."""

    def __init__(self, detail: str, *, errors: Sequence[Mapping[str, str]] = (), code: str | None = None) -> None:
        super().__init__(detail, code)
        self.errors = errors


class MalformedBody(ApiRefusal):
    """The body cannot be parsed."""

    status_code = 400
    default_code = "parse_error"


class Conflict(ApiRefusal):
    """The request conflicts with stored data."""

    status_code = 409
    default_code = "conflict"


class StillRunning(Conflict):
    """The same request is still running."""

    default_code = "still_running"
    wait = 1  # seconds, sent as Retry-After


class BodyTooLarge(ApiRefusal):
    """The body exceeds the limit of this endpoint."""

    status_code = 413
    default_code = "too_large"


class TooManyRequests(ApiRefusal):
    """The caller has exceeded its rate limit."""

    status_code = 429
    default_code = "throttled"

    def __init__(self, detail: str, wait: int) -> None:
        super().__init__(detail)
        self.wait = wait  # seconds, sent as Retry-After


def params_validation_error(error: ParamsError) -> ValidationError:
    """Invalid parameters as validation errors under `params`."""
    return ValidationError({"params": {problem.at: [problem.message] for problem in error.problems}})


def unknown_memory_error(error: NotFoundError, field: str) -> ValidationError:
    """A validation error for a memory id in the body that does not exist in the namespace."""
    return ValidationError({field: [f"must be a memory of this namespace; got {error.id}"]})
