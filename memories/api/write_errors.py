"""Views that change stored memories; errors of the write path become HTTP errors."""

from django.http import Http404
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.web.http_errors import Conflict
from memories.writing.write_errors import IntervalError, NotFoundError, RefusedError


class WriteView(NamespacedView):
    """A view whose write may conflict with what is stored."""

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(to_http_error(exc))


def to_http_error(error: Exception) -> Exception:
    """Map an error of the write path to its HTTP error; return any other error unchanged."""
    match error:
        case NotFoundError():
            return Http404(str(error))
        case RefusedError():
            return Conflict(str(error), code=error.code)
        case IntervalError():
            return ValidationError({error.field: [str(error)]})
    return error
