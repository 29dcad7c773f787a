"""Memories stored and acted on over REST."""

from typing import Any

from django.test import Client

NOBODY = "0198c7a4-0000-7000-8000-000000000000"


def remember_content(agent: Client, content: str = "Plays the cello", **body: Any) -> str:
    """Remember something; return its id."""
    payload = {"content": content, "type": "Fact", **body}
    data = agent.post("/api/v1/here/memories/", payload, content_type="application/json").json()
    return str(data["memory"]["id"])


def post_action(agent: Client, id: str, what: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    """POST an action on a memory."""
    return agent.post(
        f"/api/v1/here/memories/{id}/{what}/", body or {}, content_type="application/json", headers=headers
    )
