"""Middleware for every response: request id, Content-Security-Policy, gzip for the API."""

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

View = Callable[..., HttpResponse]

current_request_id: ContextVar[str] = ContextVar("current_request_id", default="-")
ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

# The hashes are Plotly's: the empty <style> it fills through the CSSOM, and the map stylesheet of its full bundle.
CSP_DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def assign_request_id(get_response: View) -> View:
    """Give each request an id, the caller's X-Request-ID if it is well-formed, and return it in the response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        # Not reset afterwards: Django logs an error only after the outermost middleware has returned.
        current_request_id.set(given if ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex)
        response = get_response(request)
        response["X-Request-ID"] = current_request_id.get()
        return response

    return middleware


class RequestIdFilter(logging.Filter):
    """Adds the request id to log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id.get()
        return True


def add_content_security_policy(get_response: View) -> View:
    """Set the site's policy, unless the view has set its own."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", csp_header())
        return response

    return middleware


class ApiGZipMiddleware(GZipMiddleware):
    """Gzip API responses above 200 bytes for clients that accept it; streams are left alone."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not request.path.startswith("/api/"):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        return super().process_response(request, response) if accepts_gzip(request) else response


def accepts_gzip(request: HttpRequest) -> bool:
    """Whether Accept-Encoding lists gzip, other than as `gzip;q=0`."""
    for coding in request.headers.get("Accept-Encoding", "").split(","):
        name, _, weight = coding.replace(" ", "").lower().partition(";")
        if name == "gzip":
            return weight.strip("q=0.") != "" if weight else True
    return False


def csp_header(**changes: str) -> str:
    """The site's policy as a header value, with directives replaced by name (`style_src`)."""
    directives = CSP_DIRECTIVES | {name.replace("_", "-"): value for name, value in changes.items()}
    return "; ".join(f"{name} {value}" for name, value in directives.items())
