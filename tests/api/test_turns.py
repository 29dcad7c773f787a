"""Conversations over REST."""

from typing import Any

import pytest
from django.test import Client

from memories.models import ApiKey, IdempotencyRecord, Memory, MemoryVector, Namespace, Session, Turn
from memories.web.api_keys import make_key
from tests.support.explanations import evaluate

pytestmark = pytest.mark.django_db
MOVED = {"role": "user", "speaker": "Maya", "text": "I moved to Berlin yesterday.", "said_at": "2026-03-02T12:00:00Z"}


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk")


@pytest.fixture
def agent(namespace: Namespace) -> Client:
    """A client with a write key."""
    made = make_key()
    ApiKey.objects.create(namespace=namespace, name="agent", role="write", prefix=made.prefix, hash=made.hash)
    return Client(headers={"Authorization": f"Bearer {made.plain}"})


def post(client: Client, turns: Any, headers: dict[str, str] | None = None, **body: Any) -> Any:
    body = {"session": "monday", "turns": turns, **body}
    return client.post("/api/v1/desk/turns/", body, content_type="application/json", headers=headers)


def test_turns_are_stored_and_their_memories_and_chunks_are_returned(agent: Client) -> None:
    answer = post(agent, [MOVED, {"role": "assistant", "text": "Nice!"}], user="maya", title="Moving")
    data = answer.json()
    assert answer.status_code == 201
    session = Session.objects.get()
    assert (data["session"], session.title, session.user) == (str(session.id), "Moving", "maya")
    assert [(turn["position"], turn["already_there"]) for turn in data["turns"]] == [(1, False), (2, False)]
    # A turn without a timestamp gets that of the turn before it.
    assert {turn["said_at"] for turn in data["turns"]} == {"2026-03-02T12:00:00Z"}
    (memory,) = data["memories"]
    assert memory["turn"] == data["turns"][0]["id"]
    assert (memory["outcome"], memory["memory"]["event_at"]) == ("stored", "2026-03-01T00:00:00Z")
    assert evaluate(memory["explanation"]) == pytest.approx(memory["memory"]["confidence"])
    assert [(chunk["level"], chunk["turn"]) for chunk in data["chunks"]] == [
        ("turn", data["turns"][0]["id"]),
        ("session", None),
    ]
    assert data["chunks"][0]["vectors"] == ["facet_events", "vec_asst", "vec_context", "vec_full", "vec_user"]
    vectors = MemoryVector.objects.filter(memory_id=data["chunks"][0]["memory"])
    assert sorted(vectors.values_list("route", flat=True)) == data["chunks"][0]["vectors"]


@pytest.mark.parametrize("speaker", ["!?", "ﷺ" * 100])
def test_a_speaker_whose_name_is_none_is_refused_at_its_place(agent: Client, speaker: str) -> None:
    answer = post(agent, [MOVED, MOVED | {"speaker": speaker}])
    assert (answer.status_code, answer.json()["errors"][0]["at"]) == (400, "turns.1.speaker")
    assert post(agent, [MOVED | {"speaker": ""}], user="!?").status_code == 201


def test_repeated_turns_are_answered_with_200(agent: Client) -> None:
    first = post(agent, [MOVED | {"position": 1}]).json()
    again = post(agent, [MOVED | {"position": 1}])
    assert (again.status_code, again.json()["turns"][0]["already_there"]) == (200, True)
    assert again.json()["turns"][0]["id"] == first["turns"][0]["id"]
    assert again.json()["memories"] == again.json()["chunks"] == []


def test_a_turn_of_another_text_at_the_same_position_is_a_conflict_that_names_it(agent: Client) -> None:
    post(agent, [MOVED])
    answer = post(agent, [{"role": "user", "text": "Hello"}, MOVED | {"text": "I moved to Bern.", "position": 1}])
    assert (answer.status_code, answer["Content-Type"]) == (409, "application/problem+json")
    assert answer.json()["errors"] == [
        {"at": "turns.1.position", "message": "must not be taken by a turn of another text; got 1"}
    ]
    assert Turn.objects.count() == 1


def test_the_same_request_under_a_key_is_done_once(agent: Client) -> None:
    first, again = (post(agent, [MOVED], headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.json() == again.json()
    assert Turn.objects.count() == 1
    data = first.json()
    made = {one["memory"]["id"] for one in data["memories"]} | {one["memory"] for one in data["chunks"]}
    assert {str(id) for id in IdempotencyRecord.objects.get().memory_ids} == made


def test_extraction_can_be_left_to_the_caller(agent: Client) -> None:
    data = post(agent, [MOVED], extract=False).json()
    assert data["memories"] == []
    assert set(Memory.objects.values_list("level", flat=True)) == {"turn", "session"}


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({"turns": []}, "turns", "must"),
        ({"turns": [MOVED] * 201}, "turns", "must have at most 200 items"),
        ({"turns": "all"}, "turns", "must be a list"),
        ({"turns": [{"role": "user"}]}, "turns.0.text", "is required"),
        ({"turns": [MOVED, {"role": "bystander", "text": "x"}]}, "turns.1.role", "must be one of user, assistant"),
        ({"turns": [MOVED | {"text": "a\u0000b"}]}, "turns.0.text", "U+0000"),
        ({"turns": [MOVED | {"text": "x" * 20_001}]}, "turns.0.text", "must have at most 20000 characters"),
        ({"turns": [MOVED | {"said_at": "yesterday"}]}, "turns.0.said_at", "ISO 8601"),
        ({"turns": [MOVED | {"said_at": "2099-01-01T00:00:00Z"}]}, "turns.0.said_at", "must not lie in the future"),
        ({"turns": [MOVED | {"position": 0}]}, "turns.0.position", "must be at least 1"),
        ({"turns": [MOVED | {"mood": "good"}]}, "turns.0.mood", "is not a known field"),
        ({"turns": [MOVED], "session": ""}, "session", "must not be empty"),
        ({"turns": [MOVED], "extract": "yes"}, "extract", "must be true or false"),
        ({"turns": [MOVED], "colour": "red"}, "colour", "is not a known field"),
    ],
)
def test_bad_input_is_refused_at_its_place_and_nothing_is_stored(
    agent: Client, body: dict[str, Any], at: str, message: str
) -> None:
    answer = post(agent, **body)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert not Turn.objects.exists()
    assert not Session.objects.exists()


@pytest.mark.parametrize("said_at", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_at_the_end_of_the_calendar_is_no_stumbling_block(agent: Client, said_at: str) -> None:
    Namespace.objects.update(clock="9999-12-31T23:59:59Z")
    text = "I moved yesterday, and last week, and a year ago, and in 3 years I will go on Friday, in May, next summer."
    assert post(agent, [{"role": "user", "text": text, "said_at": said_at}]).status_code == 201


def test_chunks_are_listed_only_on_request(agent: Client) -> None:
    post(agent, [{"role": "user", "text": "I moved to Lund in 2021."}, {"role": "assistant", "text": "Nice."}])

    def levels(query: str) -> set[str]:
        return {one["level"] for one in agent.get(f"/api/v1/desk/memories/{query}").json()["results"]}

    assert levels("") == {"fact"}
    assert levels("?level=turn") == {"turn"}
    assert levels("?level=session") == {"session"}
    counts = agent.get("/api/v1/desk/").json()["counts"]
    assert (counts["memories"]["active"], counts["chunks"]) == (1, 2)
