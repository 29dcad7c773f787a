"""HTTP requests with retries where they are safe; every failure is a RecallError."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from http.client import HTTPException, HTTPMessage
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import UUID, uuid4

from memories.client.payloads import FieldError

TOO_MANY_REQUESTS = 429  # rejected before anything was executed
UNAVAILABLE = (502, 503, 504)
STILL_RUNNING = "still_running"  # the first attempt of an idempotent write has not finished
INITIAL_BACKOFF = 0.25  # seconds; doubles with each attempt


class RecallError(Exception):
    """A failed call: the problem returned by the server, or status 0 if it is unreachable."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        request_id: str = "",
        retry_after: str = "",
    ) -> None:
        super().__init__(status, code, detail)
        self.status, self.code, self.detail = status, code, detail
        self.errors, self.request_id = list(errors), request_id
        self.retry_after = (
            float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None
        )  # seconds, from Retry-After

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"


class NoRedirect(HTTPRedirectHandler):
    """Do not follow redirects: the API key must not reach another host."""

    def redirect_request(self, *args: Any) -> None:
        return None


class Transport:
    """Sends requests to one namespace."""

    def __init__(self, base: str, key: str, *, timeout: float, attempts: int, patience: float) -> None:
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://; got {base}")
        self.base, self.timeout, self.attempts, self.patience = base, timeout, attempts, patience
        self.headers = {"Authorization": f"Bearer {key}", "User-Agent": "recall-client", "Accept": "*/*"}
        self.opener = build_opener(NoRedirect)

    def send(
        self,
        method: str,
        address: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        retry_safe: bool,
    ) -> Any:
        """Send a request; `retry_safe` allows a retry when the outcome of an attempt is unknown."""
        deadline = time.monotonic() + self.patience
        for attempt in range(1, self.attempts + 1):
            try:
                return self._send_once(method, address, body, headers or {})
            except RecallError as error:
                wait = INITIAL_BACKOFF * 2 ** (attempt - 1) if error.retry_after is None else error.retry_after
                too_late = time.monotonic() + wait > deadline
                if attempt == self.attempts or too_late or not is_retryable(error, retry_safe=retry_safe):
                    raise
            time.sleep(wait)
        raise ValueError(f"attempts must be at least 1; got {self.attempts}")

    def _send_once(self, method: str, address: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Any:
        data = None if body is None else json.dumps(body, default=encode_json_value).encode()
        all_headers = {**self.headers, **headers, **({} if data is None else {"Content-Type": "application/json"})}
        request = Request(self.base + address, data, all_headers, method=method)
        try:
            with self.opener.open(request, timeout=self.timeout) as response:
                return decode_body(response.read(), response.headers)
        except HTTPError as error:
            with error:
                raise error_from_response(error) from None
        except (HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise RecallError(0, "unreachable", f"Recall at {self.base} does not answer: {reason!r}") from error


class ApiCalls:
    """Shared request methods: read, paginate, idempotent write."""

    _transport: Transport

    def _get(self, address: str, params: Mapping[str, Any] | None = None) -> Any:
        query = urlencode({name: format_query_value(value) for name, value in (params or {}).items()})
        return self._transport.send("GET", f"{address}?{query}" if query else address, retry_safe=True)

    def _paginate(self, address: str, params: Mapping[str, Any]) -> Iterator[Any]:
        """Iterate over a paginated list."""
        page = self._get(address, params)
        yield from page["results"]
        while page["next"]:
            page = self._transport.send("GET", f"{address}?{urlsplit(page['next']).query}", retry_safe=True)
            yield from page["results"]

    def _query(self, address: str, body: Mapping[str, Any]) -> Any:
        return self._transport.send("POST", address, body, retry_safe=True)

    def _write(
        self, address: str, body: Mapping[str, Any] | None = None, *, method: str = "POST", dry_run: bool = False
    ) -> Any:
        """Write under a new idempotency key, so that a retry gets the response of the first attempt."""
        key = {"Idempotency-Key": str(uuid4())}
        return self._transport.send(method, address + "?dry_run=1" * dry_run, body, headers=key, retry_safe=True)


def format_query_value(value: object) -> str:
    """A value as text for a query string."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def is_retryable(error: RecallError, *, retry_safe: bool) -> bool:
    """Whether a retry may succeed and cannot execute anything twice."""
    if error.status == TOO_MANY_REQUESTS:
        return True
    return retry_safe and (error.status in (0, *UNAVAILABLE) or error.code == STILL_RUNNING)


def decode_body(raw: bytes, headers: HTTPMessage) -> Any:
    """Decode a response body by its content type: JSON, text or None."""
    if not raw:
        return None
    return json.loads(raw) if headers.get_content_type() == "application/json" else raw.decode()


def error_from_response(error: HTTPError) -> RecallError:
    """The error of a response; anything but problem+json comes from a proxy in between."""
    wait = error.headers.get("Retry-After", "")
    try:
        body = json.loads(error.read())
        return RecallError(error.code, body["code"], body["detail"], body["errors"], body["request_id"], wait)
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return RecallError(error.code, "unknown", f"{error.url} answers {error.code} {error.reason}", retry_after=wait)


def encode_json_value(value: Any) -> str:
    """JSON encoding of datetimes and UUIDs."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a body must be JSON, datetimes and UUIDs; got {type(value).__name__}")
