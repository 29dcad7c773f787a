"""What every response carries: the id of its request, what its page may load, and whether it is compressed."""

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
POLICY = {
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


def request_id(get_response: View) -> View:
    """Give each request an id, the caller's own if it is a plain one, and tell it back."""

    def middleware(request: HttpRequest) -> HttpResponse:
        came = request.headers.get("X-Request-ID", "")
        # Stays set until the thread's next request: Django logs a failure only after the last middleware is left.
        current_request_id.set(came if ACCEPTABLE_ID.fullmatch(came) else uuid.uuid4().hex)
        response = get_response(request)
        response["X-Request-ID"] = current_request_id.get()
        return response

    return middleware


class RequestIdFilter(logging.Filter):
    """Lets a log line name the request it belongs to."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id.get()
        return True


def content_security_policy(get_response: View) -> View:
    """Say what a page may load; a view that needs another policy has set its own header."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", policy())
        return response

    return middleware


class CompressedApi(GZipMiddleware):
    """Answers of the API above 200 bytes as gzip, for whoever takes it; a stream goes out as it comes."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not request.path.startswith("/api/"):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        return super().process_response(request, response) if takes_gzip(request) else response


def takes_gzip(request: HttpRequest) -> bool:
    """Whether the caller names gzip, and not to refuse it (`gzip;q=0`)."""
    for coding in request.headers.get("Accept-Encoding", "").split(","):
        name, _, weight = coding.replace(" ", "").lower().partition(";")
        if name == "gzip":
            return weight.strip("q=0.") != "" if weight else True
    return False


def policy(**changes: str) -> str:
    """The site's policy as a header, with directives replaced by name (`style_src`)."""
    directives = POLICY | {name.replace("_", "-"): value for name, value in changes.items()}
    return "; ".join(f"{name} {value}" for name, value in directives.items())
