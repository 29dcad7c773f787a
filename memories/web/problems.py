"""Errors in one shape: RFC 9457 problem+json for programs, the page `error.html` for people."""

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from rest_framework import exceptions, views

from memories.text.provider_error import ProviderError
from memories.web.middleware import current_request_id
from memories.web.theme import chosen_theme
from memories.web.validation_errors import flatten_errors, truncate_errors

logger = logging.getLogger(__name__)

MACHINE_PATHS = ("/api/", "/health/", "/metrics")


def problem(
    status: int, detail: str, *, code: str = "", errors: Sequence[Mapping[str, str]] = (), title: str = ""
) -> JsonResponse:
    """An error as problem+json."""
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
    """REST framework's exceptions as problem+json; None for others, which end as handler500."""
    if isinstance(error, ProviderError):
        views.set_rollback()
        logger.warning("provider unavailable: %s", error)
        return problem(503, str(error), code="provider_unavailable")
    response = views.exception_handler(error, context)
    if response is None:
        return None
    if isinstance(error, exceptions.ValidationError):
        errors = truncate_errors(list(flatten_errors(error.detail)))
        detail = "; ".join(f"{item['at']}: {item['message']}" for item in errors)
        result = problem(response.status_code, detail, errors=errors)
    else:
        codes = error.get_codes() if isinstance(error, exceptions.APIException) else ""
        code = codes if isinstance(codes, str) else ""
        places = error_places(error, context)
        result = problem(response.status_code, str(response.data["detail"]), code=code, errors=places)
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in response:
            result[name] = response[name]
    return result


def error_places(error: Exception, context: dict[str, Any]) -> Sequence[Mapping[str, str]]:
    """The fields or headers that caused an exception other than a validation error, if it names any."""
    if isinstance(error, exceptions.UnsupportedMediaType):
        allowed = ", ".join(parser.media_type or "" for parser in context["request"].parsers)
        got = context["request"].content_type or "nothing"
        return [{"at": "Content-Type", "message": f"must be {allowed}; got {got}"}]
    places: Sequence[Mapping[str, str]] = getattr(error, "errors", ())
    return places


def error_response(request: HttpRequest, status: int, detail: str, *, code: str = "", back: str = "/") -> HttpResponse:
    """An error outside REST framework: problem+json or a page, by the path."""
    if request.path.startswith(MACHINE_PATHS):
        return problem(status, detail, code=code)
    context = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "request_id": current_request_id.get(),
        "theme": chosen_theme(request),
        "back": back,
    }
    # Rendered without the request, so no context processor runs: its database query may be what just failed.
    return HttpResponse(render_to_string("error.html", context), status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler400."""
    return error_response(request, 400, "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler403."""
    return error_response(request, 403, str(exception or "") or "This is not yours to see or do.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: a form without a valid token, usually one left open too long."""
    return error_response(
        request, 403, "This form is too old or came from elsewhere: load the page again.", code="csrf_failed"
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """handler404; a view may give its own message."""
    message = exception.args[0] if exception and exception.args else ""
    return error_response(
        request, 404, message if message and isinstance(message, str) else f"There is nothing at {request.path}."
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500; the traceback is logged under the request id."""
    return error_response(
        request, 500, "Something broke on our side; the server's log tells what, under this request's id."
    )


def explain_form_urls(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer a GET of a form's URL, such as one reopened from the history, with a link to the page above it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code != 405 or request.path.startswith(MACHINE_PATHS):
            return response
        page = error_response(request, 405, "This URL only accepts form submissions.", back=parent_page(request.path))
        page["Allow"] = response["Allow"]
        return page

    return middleware


def parent_page(path: str) -> str:
    """The nearest URL above this one that exists."""
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        try:
            resolve(path)
        except Resolver404:
            continue
        return path
    return path
