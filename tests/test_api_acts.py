"""What a caller may say of stored memories over REST."""

import math
from typing import Any

import pytest
from django.test import Client
from evaluator import evaluate
from pytest_django.fixtures import DjangoAssertNumQueries
from test_api_walls import key_to, problem, world

from memories.models import Memory, MemoryEdge, Namespace, NamespaceStatistics, Posting, ScoreEvent
from memories.models.choices import Role, Status

pytestmark = pytest.mark.django_db
NOBODY = "0198c7a4-0000-7000-8000-000000000000"
DATABASE = (
    "The invoicing service uses PostgreSQL as its database",
    "The invoicing service uses PostgreSQL as the database",
)


@pytest.fixture
def here() -> Namespace:
    return world("here")


@pytest.fixture
def agent(here: Namespace) -> Client:
    """A client that holds a key to write."""
    return Client(headers=key_to(here, Role.WRITE))


def stored(agent: Client, content: str = "Plays the cello", **body: Any) -> str:
    """Remember something; give its id."""
    said = {"content": content, "type": "Fact", **body}
    told = agent.post("/api/v1/here/memories/", said, content_type="application/json").json()
    return str(told["memory"]["id"])


def act(agent: Client, id: str, what: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    """Say something of a memory."""
    return agent.post(
        f"/api/v1/here/memories/{id}/{what}/", body or {}, content_type="application/json", headers=headers
    )


def edit(agent: Client, id: str, body: Any) -> Any:
    return agent.patch(f"/api/v1/here/memories/{id}/", body, content_type="application/json")


def merged(agent: Client) -> tuple[str, str]:
    """Two memories, the second absorbed by the first."""
    kept = stored(agent, DATABASE[0], session="a")
    assert stored(agent, DATABASE[1], session="b") == kept
    return kept, str(Memory.objects.get(status=Status.MERGED).id)


def test_a_confirmed_memory_is_surer_and_says_why(agent: Client) -> None:
    id = stored(agent, source_level="speculation", type="Fact", extractor={"model": "haiku"})
    told = act(agent, id, "confirm").json()
    expected = 0.45 * 0.80 + 0.20 * (1 - 1 / (1 + math.log(2))) + 0.25 * 0.80 + 0.10 * 0.80
    assert told["memory"]["confidence"] == pytest.approx(expected)
    assert evaluate(told["explanation"]) == pytest.approx(expected)
    assert told["memory"]["repetitions"] == 1


def test_feedback_is_counted_on_its_side(agent: Client) -> None:
    id = stored(agent)
    for useful in (True, True, False):
        told = act(agent, id, "feedback", {"useful": useful}).json()["memory"]
    assert (told["useful"], told["not_useful"]) == (2, 1)
    assert act(agent, id, "feedback", {"useful": "yes"}).status_code == 400


def test_history_tells_every_change_with_its_cause(agent: Client) -> None:
    id = stored(agent, session="a")
    stored(agent, session="b")
    act(agent, id, "confirm")
    events = agent.get(f"/api/v1/here/memories/{id}/history/").json()["results"]
    assert [event["cause"] for event in events] == ["stored", "observed", "confirmed"]
    assert events[1]["before"]["repetitions"] == 0
    assert events[1]["after"]["repetitions"] == 1
    for event in events:
        assert evaluate(event["parts"]) == pytest.approx(event["after"]["confidence"])


def test_a_forgotten_memory_is_out_of_every_list_and_its_words_are_gone(agent: Client) -> None:
    id = stored(agent)
    assert agent.delete(f"/api/v1/here/memories/{id}/").status_code == 204
    assert agent.get("/api/v1/here/memories/").json()["results"] == []
    assert not Posting.objects.exists()
    assert NamespaceStatistics.objects.get().documents == 0
    assert act(agent, id, "confirm").status_code == 404
    assert agent.delete(f"/api/v1/here/memories/{id}/").status_code == 404


def test_what_was_forgotten_is_seen_by_admins_alone_until_it_is_purged(agent: Client, here: Namespace) -> None:
    id = stored(agent)
    agent.delete(f"/api/v1/here/memories/{id}/")
    admin = Client(headers=key_to(here, Role.ADMIN))
    for address in (f"memories/{id}/", f"memories/{id}/history/"):
        assert agent.get(f"/api/v1/here/{address}").status_code == 404
        assert admin.get(f"/api/v1/here/{address}").status_code == 200
    assert agent.get("/api/v1/here/memories/?status=forgotten").status_code == 403
    assert [one["id"] for one in admin.get("/api/v1/here/memories/?status=forgotten").json()["results"]] == [id]


def test_secrets_are_blacked_out_of_all_that_is_said_of_a_memory(agent: Client, here: Namespace) -> None:
    Namespace.objects.filter(id=here.id).update(redacts=True)
    one, other = stored(agent), stored(agent, "Plays nothing at all")
    told = edit(agent, one, {"metadata": {"from": "maya@example.org"}, "tags": ["maya@example.org"]}).json()
    assert (told["metadata"], told["tags"]) == ({"from": "[e-mail]"}, ["[e-mail]"])
    act(agent, one, "contradict", {"other": other, "reason": "maya@example.org says so"})
    body = {"name": "Maya (maya@example.org)", "aliases": ["maya@example.org"]}
    made = agent.post("/api/v1/here/entities/", body, content_type="application/json").json()
    assert (made["name"], made["aliases"]) == ("Maya ([e-mail])", ["[e-mail]"])
    assert "example.org" not in agent.get(f"/api/v1/here/memories/{one}/history/").content.decode()


def test_the_same_words_after_forgetting_are_a_new_memory(agent: Client) -> None:
    first = stored(agent)
    agent.delete(f"/api/v1/here/memories/{first}/")
    assert stored(agent) != first


BODIES: dict[str, dict[str, Any]] = {
    "confirm": {},
    "feedback": {"useful": True},
    "correct": {"content": "Plays the oboe"},
    "contradict": {"memory": NOBODY},
    "split": {},
}


@pytest.mark.parametrize("what", BODIES)
def test_nothing_can_be_said_of_a_memory_that_is_not_there(agent: Client, what: str) -> None:
    id = stored(agent, "Runs on Sundays")
    agent.delete(f"/api/v1/here/memories/{id}/")
    for nobody in ("0198c7a4-0000-7000-8000-000000000001", id):
        told = problem(act(agent, nobody, what, BODIES[what]), 404)
        assert told["detail"] == f"There is no memory {nobody} here."


@pytest.mark.parametrize("what", [what for what in BODIES if what != "split"])
def test_what_is_said_of_a_merged_memory_is_refused_and_names_the_survivor(agent: Client, what: str) -> None:
    kept, gone = merged(agent)
    other = stored(agent, "The moon is full")
    body = BODIES[what] | ({"memory": other} if what == "contradict" else {})
    told = problem(act(agent, gone, what, body), 409)
    assert told["code"] == "memory_merged"
    assert kept in told["detail"]
    assert problem(edit(agent, gone, {"importance": 1.0}), 409)["code"] == "memory_merged"


def test_a_correction_supersedes_and_tells_both(agent: Client) -> None:
    id = stored(agent, "The ledger runs on PostgreSQL 14", type="Fact", tags=["db"], subject="The ledger")
    answer = act(agent, id, "correct", {"content": "The ledger runs on PostgreSQL 15", "source_level": "direct"})
    told = answer.json()
    assert (answer.status_code, told["outcome"]) == (201, "stored")
    assert (told["memory"]["tags"], told["memory"]["type"]) == (["db"], "Fact")
    assert told["memory"]["subject"] == "The ledger"
    assert (told["corrected"]["status"], told["corrected"]["superseded_by_id"]) == ("superseded", told["memory"]["id"])
    assert told["corrected"]["valid_until"] == told["memory"]["valid_from"]
    assert evaluate(told["explanation"]) == pytest.approx(told["memory"]["confidence"])
    assert not MemoryEdge.objects.exists()
    again = problem(act(agent, id, "correct", {"content": "The ledger runs on PostgreSQL 16"}), 409)
    assert again["code"] == "memory_superseded"
    assert told["memory"]["id"] in again["detail"]


def test_a_correction_is_done_once_under_a_key(agent: Client) -> None:
    id = stored(agent)
    headers = {"Idempotency-Key": "one"}
    first, again = (act(agent, id, "correct", {"content": "Plays the oboe"}, **headers) for _ in range(2))
    assert (first.json(), first.status_code) == (again.json(), 201)
    assert again["Idempotency-Replayed"] == "true"
    assert Memory.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "content", "is required"),
        ({"content": "x", "colour": "red"}, "colour", "is not a known field"),
        ({"content": "x", "importance": 2}, "importance", "must be at most 1"),
        ({"content": "x", "valid_until": "2020-01-01T00:00:00Z"}, "valid_until", "must lie after created_at"),
        ({"content": "x", "sources": [{"level": "direct", "turn": NOBODY}]}, "sources.0.turn", "must be a turn"),
    ],
)
def test_a_bad_correction_is_refused_at_its_place_and_changes_nothing(
    agent: Client, body: dict[str, Any], at: str, message: str
) -> None:
    id = stored(agent)
    (error,) = problem(act(agent, id, "correct", body), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert Memory.objects.get().status == Status.ACTIVE


def test_a_correction_to_the_same_is_refused(agent: Client) -> None:
    told = problem(act(agent, stored(agent), "correct", {"content": "plays the cello."}), 409)
    assert told["code"] == "nothing_to_correct"


def test_a_contradiction_costs_belief_once_and_says_so(agent: Client) -> None:
    one, other = stored(agent, "The shop opens at dawn"), stored(agent, "Nobody is ever in the shop")
    first = act(agent, one, "contradict", {"memory": other, "reason": "I was there"}).json()
    again = act(agent, other, "contradict", {"memory": one}).json()
    assert (first["changed"], first["memory"]["belief"], first["other"]["belief"]) == (True, 3.5, 3.5)
    assert (again["changed"], again["memory"]["belief"], again["other"]["contradictions"]) == (False, 3.5, 1)
    events = agent.get(f"/api/v1/here/memories/{other}/history/").json()["results"]
    last = events[-1]
    assert (last["cause"], last["other"], last["parts"]["reason"]) == ("contradicted", one, "I was there")
    assert (last["parts"]["name"], last["parts"]["value"]) == ("belief", 3.5)


def test_a_contradiction_needs_another_memory_that_is_there(agent: Client) -> None:
    id = stored(agent)
    for other, message in ((id, "another memory than that of the address"), (NOBODY, "a memory of this namespace")):
        (error,) = problem(act(agent, id, "contradict", {"memory": other}), 400)["errors"]
        assert error["at"] == "memory"
        assert message in error["message"]
    elsewhere = world("there")
    foreign = Client(headers=key_to(elsewhere)).post(
        "/api/v1/there/memories/", {"content": "x"}, content_type="application/json"
    )
    assert act(agent, id, "contradict", {"memory": foreign.json()["memory"]["id"]}).status_code == 400
    assert Memory.objects.get(id=id).belief == 5.0


def test_a_split_gives_both_back(agent: Client) -> None:
    kept, gone = merged(agent)
    told = act(agent, gone, "split").json()
    assert (told["memory"]["id"], told["memory"]["status"], told["memory"]["merged_into_id"]) == (gone, "active", None)
    assert (told["survivor"]["id"], told["survivor"]["repetitions"], told["survivor"]["belief"]) == (kept, 0, 5.0)
    assert problem(act(agent, gone, "split"), 409)["code"] == "not_merged"


def test_what_is_not_content_can_be_changed(agent: Client) -> None:
    id = stored(agent, tags=["old"], valid_until="2036-05-01T00:00:00Z")
    changes = {
        "tags": ["new"],
        "importance": 0.9,
        "kind": "semantic",
        "memory_score": 0.3,
        "valid_until": None,
        "event_at": "2026-03-02T00:00:00Z",
        "metadata": {"seen": True},
    }
    told = edit(agent, id, changes).json()
    assert {name: told[name] for name in changes} == changes
    assert agent.get(f"/api/v1/here/memories/{id}/").json() == told
    event = ScoreEvent.objects.get(cause="edited")
    assert set(event.after) == {"importance", "kind", "memory_score", "valid_until", "event_at"}


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "body", "must name one of tags, kind"),
        ([], "body", "must be an object"),
        ({"content": "Plays the oboe"}, "content", "POST to …/correct/"),
        ({"type": "Event"}, "type", "POST to …/correct/"),
        ({"belief": 9}, "belief", "is not a known field"),
        ({"importance": None}, "importance", "must not be null"),
        ({"importance": "high"}, "importance", "must be a finite number"),
        ({"tags": "music"}, "tags", "must be a list"),
        ({"valid_from": "2036-06-01T00:00:00Z"}, "valid_until", "must not lie before valid_from"),
        ({"event_at": "2026-06-01T00:00:00Z", "event_until": "2026-05-01T00:00:00Z"}, "event_until", "must not lie"),
    ],
)
def test_a_bad_edit_is_refused_at_its_place_and_changes_nothing(
    agent: Client, body: Any, at: str, message: str
) -> None:
    id = stored(agent, valid_until="2036-05-01T00:00:00Z")
    before = agent.get(f"/api/v1/here/memories/{id}/").json()
    (error,) = problem(edit(agent, id, body), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert agent.get(f"/api/v1/here/memories/{id}/").json() == before


def test_an_act_asks_a_fixed_number_of_questions(
    agent: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    kept, gone = merged(agent)
    other = stored(agent, "The moon is full")
    for session in range(10):
        stored(agent, DATABASE[0], session=f"s{session}")
    for most, what, id, body in (
        (15, "confirm", kept, {}),
        (15, "feedback", kept, {"useful": True}),
        (20, "contradict", kept, {"memory": other}),
        (40, "split", gone, {}),
        (45, "correct", kept, {"content": "The invoicing service uses SQLite"}),
    ):
        with django_assert_max_num_queries(most):
            assert act(agent, id, what, body).status_code in (200, 201)
