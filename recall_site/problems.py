"""Every failure in one shape: RFC 9457 problem+json for programs, the page `error.html` for people."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from rest_framework import exceptions, views

from memories.providers.unavailable import ProviderError
from recall_site.limits import LONGEST_PLACE, MOST_ERRORS, WHOLE_BODY
from recall_site.middleware import current_request_id
from recall_site.theme import chosen_theme

logger = logging.getLogger(__name__)

FOR_PROGRAMS = ("/api/", "/health/", "/metrics")


def problem(
    status: int, detail: str, *, code: str = "", errors: Sequence[Mapping[str, str]] = (), title: str = ""
) -> JsonResponse:
    """A failure as problem+json."""
    body = {
        "status": status,
        "title": title or HTTPStatus(status).phrase,
        "code": code or HTTPStatus(status).name.lower(),
        "detail": detail,
        "errors": list(errors),
        "request_id": current_request_id.get(),
    }
    return JsonResponse(body, status=status, content_type="application/problem+json")


def exception_handler(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """REST framework's exceptions as problems; what it does not know is a server error, answered below."""
    if isinstance(error, ProviderError):
        views.set_rollback()
        logger.warning("a provider is not available: %s", error)
        return problem(503, str(error), code="provider_unavailable")
    response = views.exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        errors = shortened(list(flat(error.detail)))
        told = problem(response.status_code, "; ".join(f"{e['at']}: {e['message']}" for e in errors), errors=errors)
    else:
        codes = error.get_codes() if isinstance(error, exceptions.APIException) else ""
        code = codes if isinstance(codes, str) else ""
        places = places_of(error, context)
        told = problem(response.status_code, str(response.data["detail"]), code=code, errors=places)
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in response:
            told[name] = response[name]
    return told


def places_of(error: Exception, context: dict[str, Any]) -> Sequence[Mapping[str, str]]:
    """Where a request went wrong, as far as an exception other than a validation error knows."""
    if isinstance(error, exceptions.UnsupportedMediaType):
        allowed = ", ".join(parser.media_type or "" for parser in context["request"].parsers)
        came = context["request"].content_type or "nothing"
        return [{"at": "Content-Type", "message": f"must be {allowed}; got {came}"}]
    places: Sequence[Mapping[str, str]] = getattr(error, "errors", ())
    return places


def shortened(errors: list[dict[str, str]]) -> list[dict[str, str]]:
    """As many errors as somebody reads: a body may hold more mistakes than an answer should."""
    shown = [{**error, "at": error["at"][:LONGEST_PLACE]} for error in errors[:MOST_ERRORS]]
    left = len(errors) - len(shown)
    return [*shown, {"at": WHOLE_BODY, "message": f"and {left} more"}] if left else shown


def flat(detail: Any, at: str = "") -> Iterator[dict[str, str]]:
    """A nested validation error as places and messages; places read like `sources.0.level`."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            below = at if name == "non_field_errors" else f"{at}.{name}".lstrip(".")
            yield from flat(inner, below)
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for number, inner in enumerate(detail):
            yield from flat(inner, at if isinstance(inner, str) else f"{at}.{number}".lstrip("."))
    else:
        yield {"at": at or WHOLE_BODY, "message": str(detail)}


def answer(request: HttpRequest, status: int, detail: str, *, code: str = "", back: str = "/") -> HttpResponse:
    """A failure outside the REST framework, told to whoever asked."""
    if request.path.startswith(FOR_PROGRAMS):
        return problem(status, detail, code=code)
    context = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "request_id": current_request_id.get(),
        "theme": chosen_theme(request),
        "back": back,
    }
    # Without the request no context processor runs: what the frame of a page needs may be what has just failed.
    return HttpResponse(render_to_string("error.html", context), status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler400."""
    return answer(request, 400, "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler403."""
    return answer(request, 403, str(exception or "") or "This is not yours to see or do.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form came without its token, mostly because it was open for long."""
    return answer(request, 403, "This form is too old or came from elsewhere: load the page again.", code="csrf_failed")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler404; a view that knows more than the address has said it."""
    said = exception.args[0] if exception and exception.args else ""
    return answer(request, 404, said if said and isinstance(said, str) else f"There is nothing at {request.path}.")


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500; the log has the cause under the request's id."""
    return answer(request, 500, "Something broke on our side; the server's log tells what, under this request's id.")


def forms_only(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Lead whoever opens the address of a form's act, such as one kept after a refusal, to the page above it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code != 405 or request.path.startswith(FOR_PROGRAMS):
            return response
        told = answer(
            request, 405, "This address takes what a form sends, and shows nothing.", back=above(request.path)
        )
        told["Allow"] = response["Allow"]
        return told

    return middleware


def above(path: str) -> str:
    """The nearest address above one at which there is something."""
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    return path
