"""Import and export over REST: NDJSON both ways, in order, with a summary as the last line."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory, Namespace
from memories.models.choices import Role
from memories.transfer.export import export_namespace
from tests.support.access import key_to
from tests.support.problems import problem

pytestmark = pytest.mark.django_db
NDJSON = "application/x-ndjson"


def world(slug: str = "here") -> Namespace:
    """Create an empty namespace with a fast embedder."""
    return Namespace.objects.create(slug=slug, title=slug, embedder="wordllama-256")


def send(client: Client, headers: dict[str, str], body: bytes, type: str = NDJSON) -> Any:
    """Post lines."""
    return client.generic("POST", "/api/v1/here/import/", body, type, headers=headers)


def parse_lines(response: Any) -> list[Any]:
    """The parsed lines of a streamed response."""
    assert response.status_code == 200, response.getvalue()
    assert response["Content-Type"] == NDJSON
    text = response.getvalue().decode()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def test_each_line_is_answered_in_its_order_and_the_last_answer_is_the_sum(client: Client) -> None:
    here = world()
    body = b'{"content": "Maya likes sailing"}\n\n{"content": 7}\nnonsense\n{"content": "Maya likes sailing"}'
    answers = parse_lines(send(client, key_to(here, Role.WRITE), body))
    memory = Memory.objects.within(here).get()
    assert answers == [
        {"line": 1, "outcome": "stored", "memory": str(memory.id), "reason": ""},
        {"line": 3, "outcome": "refused", "problems": [{"at": "content", "message": "must be text; got 7"}]},
        {
            "line": 4,
            "outcome": "refused",
            "problems": [{"at": "body", "message": "must be JSON; at column 1: Expecting value"}],
        },
        {"line": 5, "outcome": "merged", "memory": str(memory.id), "reason": "exact duplicate from the same session"},
        {"end": {"lines": 4, "stored": 1, "merged": 1, "escalated": 0, "rejected": 0, "refused": 2}},
    ]


def test_a_body_larger_than_any_other_address_takes_is_read(client: Client, settings: Any) -> None:
    here = world()
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = settings.API_BODY_LIMIT = 1_000
    line = json.dumps({"content": "Maya likes sailing", "metadata": {"note": "x" * 10_000}}).encode()
    answers = parse_lines(send(client, key_to(here), b"\n".join([line] * 150)))
    assert answers[-1]["end"]["merged"] == 149


def test_an_empty_body_is_an_empty_import(client: Client) -> None:
    assert parse_lines(send(client, key_to(world()), b"\n"))[0]["end"]["lines"] == 0


def test_a_stream_takes_no_idempotency_key_no_other_type_and_no_unknown_option(client: Client) -> None:
    here = world()
    headers = key_to(here)
    data = problem(send(client, headers | {"Idempotency-Key": "k1"}, b""), 400)
    assert data["errors"] == [
        {"at": "Idempotency-Key", "message": "must not be sent with a stream, which is safe to retry; got one"}
    ]
    data = problem(send(client, headers, b"{}", "application/json"), 415)
    assert data["errors"] == [{"at": "Content-Type", "message": f"must be {NDJSON}; got application/json"}]
    response = client.generic("POST", "/api/v1/here/import/?fast=1", b"", NDJSON, headers=headers)
    assert problem(response, 400)["errors"][0]["at"] == "fast"


def test_what_is_sent_again_counts_nothing_twice(client: Client) -> None:
    here = world()
    headers = key_to(here)
    lines = [{"content": "Maya likes sailing", "session": f"s{n}"} for n in range(3)] + [{"content": "Tomas sold figs"}]
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    parse_lines(send(client, headers, body))
    before = list(Memory.objects.within(here).order_by("id").values())
    assert parse_lines(send(client, headers, body))[-1]["end"]["merged"] == 4
    assert list(Memory.objects.within(here).order_by("id").values()) == before


def test_a_failure_in_the_middle_returns_what_was_done_and_lacks_the_last_line(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    monkeypatch.setattr("memories.api.transfer.IMPORT_BATCH_SIZE", 1)
    client.raise_request_exception = False
    response = send(client, key_to(here), b'{"content": "Maya likes sailing"}\n{"content": "Tomas sold figs"}\n')
    chunks = iter(response.streaming_content)

    def broken(*args: Any, **kwargs: Any) -> Iterator[Any]:
        raise ConnectionError("the database is gone")

    from memories.transfer import import_lines

    real_remember, calls = import_lines.remember, []

    def once(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return real_remember(*args, **kwargs) if len(calls) == 1 else broken()

    monkeypatch.setattr(import_lines, "remember", once)
    lines = [json.loads(line) for line in next(chunks).decode().splitlines()]
    assert [line.get("outcome") for line in lines] == ["stored"]
    with pytest.raises(ConnectionError):
        next(chunks)


def test_an_export_is_streamed_whole(client: Client) -> None:
    here = world()
    headers = key_to(here)
    parse_lines(send(client, headers, b'{"content": "Maya likes sailing", "tags": ["x"]}\n'))
    response = client.get("/api/v1/here/export/", headers=headers | {"Accept": NDJSON})
    lines = parse_lines(response)
    assert lines == [json.loads(line) for line in export_namespace(here)]
    assert lines[0]["recall"] == 1
    assert lines[-1] == {"end": len(lines) - 2}
    tables = {line.get("table") for line in lines[1:-1]}
    assert {"memory", "memorytag", "memoryvector", "scoreevent"} <= tables
    assert "apikey" not in tables
    lean = parse_lines(client.get("/api/v1/here/export/?vectors=0", headers=headers))
    assert "memoryvector" not in {line.get("table") for line in lean}
    assert lean[0]["vectors"] is False


def test_an_export_is_for_admins(client: Client) -> None:
    assert problem(client.get("/api/v1/here/export/", headers=key_to(world(), Role.WRITE)), 403)["code"]
