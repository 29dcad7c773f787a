"""Views that do something to stored memories: what stands against it becomes a problem."""

from django.http import Http404
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from memories.api.refusals import Conflict
from memories.api.views import NamespacedView
from memories.writing.refusal import AbsentError, RefusedError, SpanError


class ActingView(NamespacedView):
    """A view whose work may be refused by what is stored."""

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(as_told(exc))


def as_told(error: Exception) -> Exception:
    """A refusal of the writing side as the API tells it; anything else as it is."""
    match error:
        case AbsentError():
            return Http404(str(error))
        case RefusedError():
            return Conflict(str(error), code=error.code)
        case SpanError():
            return ValidationError({error.at: [str(error)]})
    return error


def at_place(error: AbsentError, place: str) -> ValidationError:
    """Tell of a memory that a body names and nobody knows."""
    return ValidationError({place: [f"must be a memory of this namespace; got {error.id}"]})
