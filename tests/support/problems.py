"""problem+json, checked and read."""

import json
from typing import Any

PROBLEM = {"status", "title", "code", "detail", "errors", "request_id"}


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem of a response, without its request id."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    data: dict[str, Any] = json.loads(response.content)
    assert set(data) == PROBLEM
    assert data.pop("request_id") == response["X-Request-ID"]
    return data
