"""Remembering over REST."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import ApiKey, Membership, Memory, MemorySource, Namespace, Session, Turn
from memories.providers import endpoint
from memories.web.api_keys import make_key
from tests.support.explanations import evaluate
from tests.support.rows import store_entity

pytestmark = pytest.mark.django_db


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk")


@pytest.fixture
def agent(namespace: Namespace) -> Client:
    """A client with a write key."""
    made = make_key()
    ApiKey.objects.create(namespace=namespace, name="agent", role="write", prefix=made.prefix, hash=made.hash)
    return Client(headers={"Authorization": f"Bearer {made.plain}"})


def post(client: Client, body: dict[str, Any], query: str = "", **headers: str) -> Any:
    return client.post(f"/api/v1/desk/memories/{query}", body, content_type="application/json", headers=headers)


def test_a_memory_is_stored_and_its_confidence_explained(agent: Client) -> None:
    body = {
        "content": "Uses PostgreSQL for new projects",
        "type": "Preference",
        "source_level": "direct",
        "session": "planning",
        "extractor": {"model": "claude-haiku"},
        "tags": ["database"],
        "metadata": {"channel": "chat"},
    }
    answer = post(agent, body)
    data = answer.json()
    assert answer.status_code == 201
    assert (data["outcome"], data["memory"]["type"], data["memory"]["tags"]) == ("stored", "Preference", ["database"])
    assert data["memory"]["confidence"] == pytest.approx(0.7025)
    assert evaluate(data["explanation"]) == pytest.approx(0.7025)
    again = agent.get(f"/api/v1/desk/memories/{data['memory']['id']}/").json()
    assert again == data["memory"]


def test_every_score_of_a_write_is_explained_as_in_the_history(agent: Client) -> None:
    store_entity(Namespace.objects.get(), "Maya", "person")
    coffee = [{"content": text, "source": text} for text in COFFEE]
    data = post(agent, {**coffee[0], "importance": 0.8, "memory_score": 0.4}).json()
    assert explained_scores(data) == {"confidence", "belief", "importance", "quality", "memory_score"}
    assert data["scores"]["belief"]["op"] == "param"
    (first,) = agent.get(f"/api/v1/desk/memories/{data['memory']['id']}/history/").json()["results"]
    assert first["parts"] == {**data["explanation"], "belief": data["scores"]["belief"]}
    # The second corroborates the first, and repeating the first counts once more.
    again = {"memories": [coffee[1], {**coffee[0], "source": "another"}, {**coffee[0], "source": "another"}]}
    results = agent.post("/api/v1/desk/memories/batch/", again, content_type="application/json").json()["results"]
    assert [one["outcome"] for one in results] == ["escalated", "merged", "merged"]
    assert all(explained_scores(one) >= {"confidence", "belief"} for one in results)
    assert results[1]["memory"]["belief"] == 6.0
    assert results[1]["scores"]["belief"]["parts"]
    address = f"/api/v1/desk/memories/{data['memory']['id']}"
    helped = agent.post(f"{address}/feedback/", {"useful": True}, content_type="application/json").json()
    assert evaluate(helped["scores"]["utility"]) == pytest.approx(2 / 3)
    assert (helped["scores"]["belief"]["op"], helped["scores"]["belief"]["value"]) == ("input", 6.0)


COFFEE = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"  # cosine .901: escalated


def explained_scores(answer: dict[str, Any]) -> set[str]:
    """The scores of a response whose explanations evaluate to the stored values."""
    trees = {"confidence": answer["explanation"], **answer["scores"]}
    return {name for name, tree in trees.items() if evaluate(tree) == pytest.approx(answer["memory"][name], abs=1e-9)}


def test_a_duplicate_is_merged_and_answered_with_200(agent: Client) -> None:
    post(agent, {"content": "Plays the cello", "session": "a"})
    answer = post(agent, {"content": "plays the cello.", "session": "b"})
    assert (answer.status_code, answer.json()["outcome"]) == (200, "merged")
    assert answer.json()["memory"]["repetitions"] == 1


def test_a_dry_run_returns_the_outcome_and_stores_nothing(agent: Client) -> None:
    answer = agent.post(
        "/api/v1/desk/memories/?dry_run=1", {"content": "Plays the cello"}, content_type="application/json"
    )
    assert answer.json()["outcome"] == "stored"
    assert not Memory.objects.exists()


def test_the_same_request_under_a_key_is_done_once(agent: Client) -> None:
    headers = {"Idempotency-Key": "one"}
    first, again = (post(agent, {"content": "Plays the cello"}, **headers) for _ in range(2))
    assert first.json() == again.json()
    assert Memory.objects.get().repetitions == 0
    other = post(agent, {"content": "Plays the oboe"}, **headers)
    assert (other.status_code, other["Content-Type"]) == (409, "application/problem+json")


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "content", "is required"),
        ({"content": ""}, "content", "must not be empty"),
        ({"content": "a\u0000b"}, "content", "U+0000"),
        ({"content": "x" * 20_001}, "content", "must have at most 20000 characters"),
        ({"content": "x", "colour": "red"}, "colour", "is not a known field"),
        ({"content": "x", "importance": 1.5}, "importance", "must be at most 1"),
        ({"content": "x", "importance": "high"}, "importance", "must be a finite number"),
        ({"content": "x", "kind": "odd"}, "kind", "must be one of working, episodic"),
        ({"content": "x", "sources": [{"level": "hearsay"}]}, "sources.0.level", "must be one of direct"),
        ({"content": "x", "extractor": {"logprobs": [0.5]}}, "extractor.logprobs.0", "must be at most 0"),
        ({"content": "x", "extractor": {"logprobs": [-1, -2e6]}}, "extractor.logprobs.1", "must be at least -1000000"),
        ({"content": "x", "entities": ["Maya", "!?"]}, "entities.1", "must contain more than punctuation"),
        ({"content": "x", "entities": ["ﷺ" * 100]}, "entities.0", "must have at most 300 characters in NFKC; got 1800"),
        ({"content": "x", "valid_until": "tomorrow"}, "valid_until", "ISO 8601"),
        (
            {"content": "x", "valid_from": "2026-03-02T00:00:00Z", "valid_until": "2026-03-01T00:00:00Z"},
            "valid_until",
            "must not lie before valid_from",
        ),
        ({"content": "x\ud800"}, "content", "U+D800"),
        ({"content": ["x"]}, "content", "must be text"),
        ({"content": "x", "created_at": "2099-01-01T00:00:00Z"}, "created_at", "must not lie in the future"),
        ({"content": "x", "happened_at": "2099-01-01T00:00:00Z"}, "happened_at", "must not lie in the future"),
        ({"content": "x", "valid_until": "2020-01-01T00:00:00Z"}, "valid_until", "must lie after created_at"),
        (
            {"content": "x", "sources": [{"level": "direct", "turn": "0198c7a4-0000-7000-8000-000000000000"}]},
            "sources.0.turn",
            "must be a turn of this namespace",
        ),
        ({"content": "x", "turn": "0198c7a4-0000-7000-8000-000000000000"}, "turn", "must be a turn of this namespace"),
        (
            {"content": "x", "turn": "0198c7a4-0000-7000-8000-000000000000", "sources": [{"level": "direct"}]},
            "turn",
            "must not be given with sources",
        ),
    ],
)
def test_bad_input_is_refused_at_its_place_and_nothing_is_stored(
    agent: Client, body: dict[str, Any], at: str, message: str
) -> None:
    answer = post(agent, body)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert not Memory.objects.exists()


def test_an_expired_memory_may_be_written_with_its_own_created_at(agent: Client) -> None:
    body = {"content": "x", "created_at": "2019-01-01T00:00:00Z", "valid_until": "2020-01-01T00:00:00Z"}
    assert post(agent, body).status_code == 201


def test_a_content_of_a_megabyte_is_refused_by_its_size(agent: Client) -> None:
    answer = post(agent, {"content": "x" * 1_000_000})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert not Memory.objects.exists()


def test_an_unavailable_embedder_is_reported_and_nothing_is_stored(
    agent: Client, namespace: Namespace, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    monkeypatch.setattr(endpoint, "MAX_ATTEMPTS", 1)
    Namespace.objects.update(embedder="openai/nobody")
    answer = post(agent, {"content": "Plays the cello"})
    assert (answer.status_code, answer.json()["code"]) == (503, "provider_unavailable")
    assert "127.0.0.1:9" in answer.json()["detail"]
    assert not Memory.objects.exists()


def test_memories_are_listed_newest_first_page_by_page(agent: Client) -> None:
    for content in ("Plays the cello", "Runs on Sundays", "Reads at night"):
        post(agent, {"content": content})
    first = agent.get("/api/v1/desk/memories/?limit=2").json()
    assert [memory["content"] for memory in first["results"]] == ["Reads at night", "Runs on Sundays"]
    second = agent.get(first["next"]).json()
    assert [memory["content"] for memory in second["results"]] == ["Plays the cello"]


def test_a_reader_may_not_write_and_a_stranger_sees_nothing(namespace: Namespace, client: Client) -> None:
    reader = User.objects.create_user("reader")
    Membership.objects.create(user=reader, namespace=namespace, role="read")
    client.force_login(reader)
    assert client.get("/api/v1/desk/memories/").status_code == 200
    assert post(client, {"content": "x"}).status_code == 403
    client.force_login(User.objects.create_user("stranger"))
    assert post(client, {"content": "x"}).status_code == client.get("/api/v1/desk/memories/").status_code == 404


def test_a_batch_returns_one_outcome_each_and_an_invalid_item_does_not_affect_the_others(agent: Client) -> None:
    memories = [
        {"content": "Plays the cello", "session": "a"},
        {"content": ""},
        {"content": "plays the cello", "session": "b"},
        {"content": "Plays the oboe", "entities": ["…"]},
    ]
    results = post(agent, {"memories": memories}, "batch/").json()["results"]
    assert [one["outcome"] for one in results] == ["stored", "refused", "merged", "refused"]
    assert results[1]["problems"] == [{"at": "content", "message": "must not be empty"}]
    assert Memory.objects.get().repetitions == 1


@pytest.mark.parametrize("memories", [[], "all", [3], [{"content": "x"}] * 1001])
def test_a_batch_that_is_none_is_refused(agent: Client, memories: Any) -> None:
    assert post(agent, {"memories": memories}, "batch/").status_code == 400


def test_a_dry_run_shows_the_tags_it_would_store(agent: Client) -> None:
    data = post(agent, {"content": "Plays the cello", "type": "Fact", "tags": ["music"]}, "?dry_run=1").json()
    assert data["memory"]["tags"] == ["music"]


def test_a_batch_makes_no_more_sql_queries_for_more_memories(
    agent: Client, namespace: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    session = Session.objects.create(namespace=namespace, key="a", started_at=timezone.now())
    turn = Turn.objects.create(session=session, position=1, role="user", text="…", said_at=timezone.now())
    sources = [{"level": "direct", "turn": str(turn.id)}]
    for size in (1, 40):
        contents = [f"Number {size * 7919 + place} is a number" for place in range(size)]
        memories = [{"content": content, "tags": ["n"], "sources": sources} for content in contents]
        with django_assert_max_num_queries(40):
            assert post(agent, {"memories": memories}, "batch/").status_code == 200


@pytest.mark.parametrize(("more", "level"), [({"source_level": "direct"}, "direct"), ({}, "strong_inference")])
def test_a_turn_alone_is_one_source(agent: Client, namespace: Namespace, more: dict[str, str], level: str) -> None:
    session = Session.objects.create(namespace=namespace, key="a", started_at=timezone.now())
    turn = Turn.objects.create(session=session, position=1, role="user", text="…", said_at=timezone.now())
    assert post(agent, {"content": "Plays the cello", "turn": str(turn.id), **more}).status_code == 201
    source, memory = MemorySource.objects.get(), Memory.objects.get()
    assert (source.turn_id, source.session_id, source.level) == (turn.id, session.id, level)
    assert (memory.turn_id, memory.source_strength) == (turn.id, source.strength)


def test_an_unknown_turn_is_refused_at_its_own_place(agent: Client) -> None:
    nobody = {"level": "direct", "turn": "0198c7a4-0000-7000-8000-000000000000"}
    answer = post(agent, {"content": "x", "sources": [{"level": "direct"}, nobody]})
    assert answer.json()["errors"][0]["at"] == "sources.1.turn"
