"""Requests that wait and are sent again where that is safe, and failures told as one exception."""

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

from memories.client.shapes import Error

TOO_OFTEN = 429  # refused before anything was done
AWAY = (502, 503, 504)
STILL_RUNNING = "still_running"  # the first attempt of a write, as its second is told
FIRST_WAIT = 0.25  # seconds; doubled with each attempt


class RecallError(Exception):
    """A call that failed: what Recall says of it, or that it cannot be reached (status 0)."""

    def __init__(
        self, status: int, code: str, detail: str, errors: Sequence[Error] = (), request_id: str = "", wait: str = ""
    ) -> None:
        super().__init__(status, code, detail)
        self.status, self.code, self.detail = status, code, detail
        self.errors, self.request_id = list(errors), request_id
        self.wait = float(wait) if wait.isascii() and wait.isdigit() else None  # seconds, from Retry-After

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"


class Unmoved(HTTPRedirectHandler):
    """A key is for the address it was given for: nobody is followed elsewhere with it."""

    def redirect_request(self, *args: Any) -> None:
        return None


class Transport:
    """The way to one namespace."""

    def __init__(self, base: str, key: str, *, timeout: float, attempts: int, patience: float) -> None:
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://; got {base}")
        self.base, self.timeout, self.attempts, self.patience = base, timeout, attempts, patience
        self.headers = {"Authorization": f"Bearer {key}", "User-Agent": "recall-client", "Accept": "*/*"}
        self.opener = build_opener(Unmoved)

    def send(
        self,
        method: str,
        address: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        again: bool,
    ) -> Any:
        """Give the answer; `again` tells whether the request may be sent again when nobody knows what became of it."""
        until = time.monotonic() + self.patience
        for attempt in range(1, self.attempts + 1):
            try:
                return self._once(method, address, body, headers or {})
            except RecallError as error:
                wait = FIRST_WAIT * 2 ** (attempt - 1) if error.wait is None else error.wait
                late = time.monotonic() + wait > until
                if attempt == self.attempts or late or not passing(error, again=again):
                    raise
            time.sleep(wait)
        raise ValueError(f"attempts must be at least 1; got {self.attempts}")

    def _once(self, method: str, address: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Any:
        data = None if body is None else json.dumps(body, default=plain).encode()
        sent = {**self.headers, **headers, **({} if data is None else {"Content-Type": "application/json"})}
        request = Request(self.base + address, data, sent, method=method)
        try:
            with self.opener.open(request, timeout=self.timeout) as response:
                return told(response.read(), response.headers)
        except HTTPError as error:
            with error:
                raise problem(error) from None
        except (HTTPException, OSError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise RecallError(0, "unreachable", f"Recall at {self.base} does not answer: {reason!r}") from error


class Calls:
    """What calls have in common: they read, walk, or write once."""

    _transport: Transport

    def _get(self, address: str, asked: Mapping[str, Any] | None = None) -> Any:
        query = urlencode({name: written(value) for name, value in (asked or {}).items()})
        return self._transport.send("GET", f"{address}?{query}" if query else address, again=True)

    def _walk(self, address: str, asked: Mapping[str, Any]) -> Iterator[Any]:
        """Walk a list from page to page."""
        page = self._get(address, asked)
        yield from page["results"]
        while page["next"]:
            page = self._transport.send("GET", f"{address}?{urlsplit(page['next']).query}", again=True)
            yield from page["results"]

    def _read(self, address: str, body: Mapping[str, Any]) -> Any:
        return self._transport.send("POST", address, body, again=True)

    def _write(
        self, address: str, body: Mapping[str, Any] | None = None, *, method: str = "POST", dry_run: bool = False
    ) -> Any:
        """Write under a key of its own, so that a repeated request is told the first one's answer."""
        once = {"Idempotency-Key": str(uuid4())}
        return self._transport.send(method, address + "?dry_run=1" * dry_run, body, headers=once, again=True)


def written(value: object) -> str:
    """A value as a query string holds it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def passing(error: RecallError, *, again: bool) -> bool:
    """Tell whether the same request may succeed later, and cannot do anything twice."""
    if error.status == TOO_OFTEN:
        return True
    return again and (error.status in (0, *AWAY) or error.code == STILL_RUNNING)


def told(raw: bytes, headers: HTTPMessage) -> Any:
    """An answer as what it is: data, text, or nothing."""
    if not raw:
        return None
    return json.loads(raw) if headers.get_content_type() == "application/json" else raw.decode()


def problem(error: HTTPError) -> RecallError:
    """A refusal as it was told; one that is no problem+json comes from somebody in between."""
    wait = error.headers.get("Retry-After", "")
    try:
        said = json.loads(error.read())
        return RecallError(error.code, said["code"], said["detail"], said["errors"], said["request_id"], wait)
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        return RecallError(error.code, "unknown", f"{error.url} answers {error.code} {error.reason}", wait=wait)


def plain(value: Any) -> str:
    """Moments and ids as JSON holds them."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"a body must be JSON, datetimes and UUIDs; got {type(value).__name__}")
