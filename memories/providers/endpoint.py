"""An OpenAI-compatible address: JSON in, JSON out, asked again while it is busy or away."""

import json
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

TRIES = 4
PAUSE = 0.5  # seconds before the second try, doubled before each further one
LONGEST_PAUSE = 20.0  # seconds, whatever the server asks for


class NoAnswerError(RuntimeError):
    """What a server said instead of an answer; `status` is 0 where nobody was there."""

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status

    @property
    def away(self) -> bool:
        """Whether the server would answer nobody now; else it refused this one request."""
        return self.status in (0, 401, 403, 404, 429) or self.status >= 500


@dataclass(frozen=True)
class Endpoint:
    """Where requests go, and with which key."""

    address: str
    key: str
    timeout: float  # seconds

    def __post_init__(self) -> None:
        if not self.address.startswith(("https://", "http://")):
            allowed = "an address like https://api.openai.com/v1"
            raise ValueError(f"OPENAI_BASE_URL must be {allowed}, not {self.address!r}.")

    def at(self, path: str) -> str:
        """The whole address of a call."""
        return f"{self.address.rstrip('/')}/{path}"

    def posted(self, path: str, body: dict[str, Any]) -> bytes:
        """Ask, and ask again while the server is busy or away."""
        for tried in range(1, TRIES + 1):
            try:
                return self._asked_once(path, json.dumps(body).encode())
            except urllib.error.HTTPError as error:
                failed, pause = NoAnswerError(told(error), error.code), pause_asked_for(error)
                if error.code != 429 and error.code < 500:
                    break
            except (OSError, HTTPException) as error:  # URLError and TimeoutError are OSErrors
                failed, pause = NoAnswerError(str(getattr(error, "reason", error))), 0.0
            if tried < TRIES:
                time.sleep(min(LONGEST_PAUSE, max(pause, PAUSE * 2 ** (tried - 1))))
        raise failed

    def _asked_once(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        request = urllib.request.Request(self.at(path), body, headers)
        with urllib.request.urlopen(request, timeout=self.timeout) as response:
            answer: bytes = response.read()
        return answer


def told(error: urllib.error.HTTPError) -> str:
    """The status and what the server says is wrong, shortened."""
    with error:
        said = error.read(2000).decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        said = str(json.loads(said)["error"]["message"])
    return f"{error.code} {error.reason}: {said[:300]}"


def pause_asked_for(error: urllib.error.HTTPError) -> float:
    """The seconds of Retry-After, where it gives seconds."""
    after = error.headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else 0.0
