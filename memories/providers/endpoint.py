"""An OpenAI-compatible API: JSON over HTTP, with retries while it is busy or unreachable."""

import json
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

MAX_ATTEMPTS = 4
BACKOFF = 0.5  # seconds before the second attempt, doubled before each further one
MAX_BACKOFF = 20.0  # seconds, even if Retry-After asks for more


class NoAnswerError(RuntimeError):
    """A request that failed for good; `status` is 0 if the server was unreachable."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_outage(self) -> bool:
        """Whether further requests would fail too; else only this request was rejected."""
        return self.status in (0, 401, 403, 404, 429) or self.status >= 500


@dataclass(frozen=True)
class Endpoint:
    """A base URL and its API key."""

    base_url: str
    key: str
    timeout: float  # seconds

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("https://", "http://")):
            allowed = "a URL like https://api.openai.com/v1"
            raise ValueError(f"OPENAI_BASE_URL must be {allowed}; got {self.base_url!r}.")

    def url(self, path: str) -> str:
        """The URL of a call."""
        return f"{self.base_url.rstrip('/')}/{path}"

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        """Send a request, and retry while the server is busy or unreachable."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return self._post_once(path, json.dumps(body).encode())
            except urllib.error.HTTPError as error:
                failure, delay = NoAnswerError(http_error_message(error), error.code), retry_after(error)
                if error.code != 429 and error.code < 500:
                    break
            except (OSError, HTTPException) as error:  # URLError and TimeoutError are OSErrors
                failure, delay = NoAnswerError(str(getattr(error, "reason", error))), 0.0
            if attempt < MAX_ATTEMPTS:
                time.sleep(min(MAX_BACKOFF, max(delay, BACKOFF * 2 ** (attempt - 1))))
        raise failure

    def _post_once(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        request = urllib.request.Request(self.url(path), body, headers)
        with urllib.request.urlopen(request, timeout=self.timeout) as response:
            answer: bytes = response.read()
        return answer


def http_error_message(error: urllib.error.HTTPError) -> str:
    """The status and the server's message, truncated."""
    with error:
        message = error.read(2000).decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        message = str(json.loads(message)["error"]["message"])
    return f"{error.code} {error.reason}: {message[:300]}"


def retry_after(error: urllib.error.HTTPError) -> float:
    """Retry-After in seconds; 0 if it is missing or a date."""
    after = error.headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else 0.0
