"""Provenance depth and grounding of a memory over REST: read, edited, and what follows from them."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Role
from memories.transfer.export import export_namespace
from scoring.policy import WritePolicyParams
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db
POLICY = WritePolicyParams()


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


class Writer:
    """A key that writes to a namespace."""

    def __init__(self, client: Client, namespace: Namespace) -> None:
        self.client, self.headers = client, key_to(namespace, Role.WRITE)

    def remember(self, **body: Any) -> dict[str, Any]:
        response = self.client.post("/api/v1/here/memories/", body, "application/json", headers=self.headers)
        assert response.status_code in (200, 201), response.content
        memory: dict[str, Any] = response.json()["memory"]
        return memory

    def edit(self, id: str, **body: Any) -> Any:
        return self.client.patch(f"/api/v1/here/memories/{id}/", body, "application/json", headers=self.headers)

    def read(self, id: str) -> dict[str, Any]:
        memory: dict[str, Any] = self.client.get(f"/api/v1/here/memories/{id}/", headers=self.headers).json()
        return memory

    def results(self, text: str, **more: Any) -> dict[str, dict[str, Any]]:
        body = {"query": text, "system": "contextdb", **more}
        response = self.client.post("/api/v1/here/retrieve/", body, "application/json", headers=self.headers)
        assert response.status_code == 200, response.content
        return {one["id"]: one for one in response.json()["results"]}


@pytest.fixture
def writer(client: Client, namespace: Namespace) -> Writer:
    return Writer(client, namespace)


def test_provenance_depth_and_grounding_are_read_and_edited(writer: Writer, namespace: Namespace) -> None:
    told = writer.remember(content="Maya plays the cello.", provenance_depth=1)
    assert (told["provenance_depth"], told["grounding"], told["grounding_penalty"]) == (1, "supported", 0.0)
    assert writer.edit(told["id"], provenance_depth=3).json()["provenance_depth"] == 3
    (result,) = writer.results("Who plays the cello?").values()
    assert result["conf"] == pytest.approx(told["confidence"] * 0.9**3)
    edited = writer.edit(told["id"], grounding="partial").json()
    assert (edited["grounding"], edited["grounding_penalty"]) == ("partial", POLICY.grounding_penalty)
    assert edited["confidence"] == pytest.approx(told["confidence"] - POLICY.grounding_penalty)
    assert edited == writer.read(told["id"])
    *_, depth, grounding = ScoreEvent.objects.within(namespace).order_by("at", "id")
    assert (depth.before, depth.after) == ({"provenance_depth": 1}, {"provenance_depth": 3})
    assert grounding.before["grounding"] == "supported"
    assert grounding.after["confidence"] == edited["confidence"]
    assert grounding.parts["name"] == "confidence"
    assert writer.edit(told["id"], grounding="supported").json()["confidence"] == told["confidence"]


def test_what_is_found_unsupported_is_rejected_and_no_longer_returned(writer: Writer) -> None:
    told = writer.remember(content="Maya plays the cello.")
    assert told["id"] in writer.results("Who plays the cello?")
    edited = writer.edit(told["id"], grounding="unsupported").json()
    assert (edited["status"], edited["reason"]) == ("rejected", "its source does not support it")
    assert writer.results("Who plays the cello?") == {}
    refused = problem(writer.edit(told["id"], grounding="supported"), 409)
    assert refused["code"] == "memory_rejected"
    again = writer.remember(content="Maya plays the cello.")
    assert (again["status"], again["id"] == told["id"]) == ("active", False)


def test_partial_support_that_leaves_too_little_confidence_rejects(writer: Writer) -> None:
    told = writer.remember(content="Maya may play the cello.", source_level="speculation")
    edited = writer.edit(told["id"], grounding="partial").json()
    assert edited["confidence"] < POLICY.grounding_floor
    assert edited["status"] == "rejected"
    assert "only partly grounded" in edited["reason"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"provenance_depth": -1}, "must be at least 0; got -1"),
        ({"provenance_depth": 101}, "must be at most 100; got 101"),
        ({"grounding": "maybe"}, "must be one of supported, partial, unsupported"),
        ({"grounding_penalty": 0.1}, "is not a known field"),
    ],
)
def test_other_values_are_refused_at_their_field(writer: Writer, body: dict[str, Any], message: str) -> None:
    told = writer.remember(content="Maya plays the cello.")
    (error,) = problem(writer.edit(told["id"], **body), 400)["errors"]
    assert error["at"] in body
    assert error["message"].startswith(message)


def test_a_query_as_of_the_past_sees_the_depth_of_then(writer: Writer, namespace: Namespace) -> None:
    told = writer.remember(content="Maya plays the cello.", provenance_depth=1)
    writer.edit(told["id"], provenance_depth=4)
    first, second = ScoreEvent.objects.within(namespace).order_by("at", "id")
    between = first.at + (second.at - first.at) / 2

    def conf() -> float:
        (result,) = writer.results("Who plays the cello?", as_of=between.isoformat()).values()
        value: float = result["conf"]
        return value

    assert conf() == pytest.approx(told["confidence"] * 0.9)
    # A memory stored before depth was recorded: its first event does not name it.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_scoreevent SET after = after - 'provenance_depth' WHERE id = %s", [first.id])
    assert conf() == pytest.approx(told["confidence"] * 0.9)


def test_an_export_holds_them(writer: Writer, namespace: Namespace) -> None:
    told = writer.remember(content="Maya plays the cello.")
    writer.edit(told["id"], provenance_depth=2, grounding="partial")
    rows = [json.loads(line) for line in export_namespace(namespace, vectors=False)]
    (row,) = [row for row in rows if row.get("table") == Memory._meta.model_name]
    assert (row["provenance_depth"], row["grounding"], row["grounding_penalty"]) == (2, "partial", 0.2)
