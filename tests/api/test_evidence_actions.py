"""Confirm, feedback, correct, contradict, split, edit and forget over REST."""

import math
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import Memory, MemoryEdge, Namespace, NamespaceStatistics, Posting, ScoreEvent
from memories.models.choices import Role, Status
from tests.support.access import key_to
from tests.support.explanations import evaluate
from tests.support.memory_actions import NOBODY, post_action, remember_content
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db
DATABASE = (
    "The invoicing service uses PostgreSQL as its database",
    "The invoicing service uses PostgreSQL as the database",
)


def edit(agent: Client, id: str, body: Any) -> Any:
    return agent.patch(f"/api/v1/here/memories/{id}/", body, content_type="application/json")


def merge_two(agent: Client) -> tuple[str, str]:
    """Two memories, the second merged into the first."""
    survivor = remember_content(agent, DATABASE[0], session="a")
    assert remember_content(agent, DATABASE[1], session="b") == survivor
    return survivor, str(Memory.objects.get(status=Status.MERGED).id)


def test_a_confirmed_memory_is_surer_and_says_why(agent: Client) -> None:
    id = remember_content(agent, source_level="speculation", type="Fact", extractor={"model": "haiku"})
    data = post_action(agent, id, "confirm").json()
    expected = 0.45 * 0.80 + 0.20 * (1 - 1 / (1 + math.log(2))) + 0.25 * 0.80 + 0.10 * 0.80
    assert data["memory"]["confidence"] == pytest.approx(expected)
    assert evaluate(data["explanation"]) == pytest.approx(expected)
    assert data["memory"]["repetitions"] == 1


def test_feedback_is_counted_on_its_side(agent: Client) -> None:
    id = remember_content(agent)
    for useful in (True, True, False):
        data = post_action(agent, id, "feedback", {"useful": useful}).json()["memory"]
    assert (data["useful"], data["not_useful"]) == (2, 1)
    assert post_action(agent, id, "feedback", {"useful": "yes"}).status_code == 400


def test_history_lists_every_change_with_its_cause(agent: Client) -> None:
    id = remember_content(agent, session="a")
    remember_content(agent, session="b")
    post_action(agent, id, "confirm")
    events = agent.get(f"/api/v1/here/memories/{id}/history/").json()["results"]
    assert [event["cause"] for event in events] == ["stored", "observed", "confirmed"]
    assert events[1]["before"]["repetitions"] == 0
    assert events[1]["after"]["repetitions"] == 1
    for event in events:
        assert evaluate(event["parts"]) == pytest.approx(event["after"]["confidence"])


def test_a_forgotten_memory_is_out_of_every_list_and_its_words_are_gone(agent: Client) -> None:
    id = remember_content(agent)
    assert agent.delete(f"/api/v1/here/memories/{id}/").status_code == 204
    assert agent.get("/api/v1/here/memories/").json()["results"] == []
    assert not Posting.objects.exists()
    assert NamespaceStatistics.objects.get().documents == 0
    assert post_action(agent, id, "confirm").status_code == 404
    assert agent.delete(f"/api/v1/here/memories/{id}/").status_code == 404


def test_what_was_forgotten_is_seen_by_admins_alone_until_it_is_purged(agent: Client, namespace: Namespace) -> None:
    id = remember_content(agent)
    agent.delete(f"/api/v1/here/memories/{id}/")
    admin = Client(headers=key_to(namespace, Role.ADMIN))
    for address in (f"memories/{id}/", f"memories/{id}/history/"):
        assert agent.get(f"/api/v1/here/{address}").status_code == 404
        assert admin.get(f"/api/v1/here/{address}").status_code == 200
    assert agent.get("/api/v1/here/memories/?status=forgotten").status_code == 403
    assert [one["id"] for one in admin.get("/api/v1/here/memories/?status=forgotten").json()["results"]] == [id]


def test_secrets_are_redacted_from_edits_reasons_and_entities(agent: Client, namespace: Namespace) -> None:
    Namespace.objects.filter(id=namespace.id).update(redacts=True)
    one, other = remember_content(agent), remember_content(agent, "Plays nothing at all")
    data = edit(agent, one, {"metadata": {"from": "maya@example.org"}, "tags": ["maya@example.org"]}).json()
    assert (data["metadata"], data["tags"]) == ({"from": "[e-mail]"}, ["[e-mail]"])
    post_action(agent, one, "contradict", {"other": other, "reason": "maya@example.org says so"})
    body = {"name": "Maya (maya@example.org)", "aliases": ["maya@example.org"]}
    made = agent.post("/api/v1/here/entities/", body, content_type="application/json").json()
    assert (made["name"], made["aliases"]) == ("Maya ([e-mail])", ["[e-mail]"])
    assert "example.org" not in agent.get(f"/api/v1/here/memories/{one}/history/").content.decode()


def test_the_same_words_after_forgetting_are_a_new_memory(agent: Client) -> None:
    first = remember_content(agent)
    agent.delete(f"/api/v1/here/memories/{first}/")
    assert remember_content(agent) != first


BODIES: dict[str, dict[str, Any]] = {
    "confirm": {},
    "feedback": {"useful": True},
    "correct": {"content": "Plays the oboe"},
    "contradict": {"memory": NOBODY},
    "split": {},
}


@pytest.mark.parametrize("what", BODIES)
def test_an_action_on_a_missing_memory_is_not_found(agent: Client, what: str) -> None:
    id = remember_content(agent, "Runs on Sundays")
    agent.delete(f"/api/v1/here/memories/{id}/")
    for nobody in ("0198c7a4-0000-7000-8000-000000000001", id):
        data = problem(post_action(agent, nobody, what, BODIES[what]), 404)
        assert data["detail"] == f"There is no memory {nobody} here."


@pytest.mark.parametrize("what", [what for what in BODIES if what != "split"])
def test_an_action_on_a_merged_memory_is_refused_and_names_the_survivor(agent: Client, what: str) -> None:
    survivor, gone = merge_two(agent)
    other = remember_content(agent, "The moon is full")
    body = BODIES[what] | ({"memory": other} if what == "contradict" else {})
    data = problem(post_action(agent, gone, what, body), 409)
    assert data["code"] == "memory_merged"
    assert survivor in data["detail"]
    assert problem(edit(agent, gone, {"importance": 1.0}), 409)["code"] == "memory_merged"


def test_a_correction_supersedes_and_returns_both(agent: Client) -> None:
    id = remember_content(agent, "The ledger runs on PostgreSQL 14", type="Fact", tags=["db"], subject="The ledger")
    answer = post_action(
        agent, id, "correct", {"content": "The ledger runs on PostgreSQL 15", "source_level": "direct"}
    )
    data = answer.json()
    assert (answer.status_code, data["outcome"]) == (201, "stored")
    assert (data["memory"]["tags"], data["memory"]["type"]) == (["db"], "Fact")
    assert data["memory"]["subject"] == "The ledger"
    assert (data["corrected"]["status"], data["corrected"]["superseded_by_id"]) == ("superseded", data["memory"]["id"])
    assert data["corrected"]["valid_until"] == data["memory"]["valid_from"]
    assert evaluate(data["explanation"]) == pytest.approx(data["memory"]["confidence"])
    assert not MemoryEdge.objects.exists()
    again = problem(post_action(agent, id, "correct", {"content": "The ledger runs on PostgreSQL 16"}), 409)
    assert again["code"] == "memory_superseded"
    assert data["memory"]["id"] in again["detail"]


def test_a_correction_is_done_once_under_a_key(agent: Client) -> None:
    id = remember_content(agent)
    headers = {"Idempotency-Key": "one"}
    first, again = (post_action(agent, id, "correct", {"content": "Plays the oboe"}, **headers) for _ in range(2))
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
    id = remember_content(agent)
    (error,) = problem(post_action(agent, id, "correct", body), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert Memory.objects.get().status == Status.ACTIVE


def test_a_correction_to_the_same_is_refused(agent: Client) -> None:
    data = problem(post_action(agent, remember_content(agent), "correct", {"content": "plays the cello."}), 409)
    assert data["code"] == "nothing_to_correct"


def test_a_contradiction_costs_belief_once_and_says_so(agent: Client) -> None:
    one, other = (
        remember_content(agent, "The shop opens at dawn"),
        remember_content(agent, "Nobody is ever in the shop"),
    )
    first = post_action(agent, one, "contradict", {"memory": other, "reason": "I was there"}).json()
    again = post_action(agent, other, "contradict", {"memory": one}).json()
    assert (first["changed"], first["memory"]["belief"], first["other"]["belief"]) == (True, 3.5, 3.5)
    assert (again["changed"], again["memory"]["belief"], again["other"]["contradictions"]) == (False, 3.5, 1)
    events = agent.get(f"/api/v1/here/memories/{other}/history/").json()["results"]
    stated, confirmed = events[-2:]
    assert (stated["cause"], stated["other"], stated["parts"]["reason"]) == ("contradicted", one, "I was there")
    assert (stated["parts"]["name"], stated["parts"]["value"]) == ("belief", 3.5)
    assert (confirmed["cause"], confirmed["other"], confirmed["after"]) == ("contradiction confirmed", one, {})


def test_a_contradiction_needs_another_memory_that_is_there(agent: Client) -> None:
    id = remember_content(agent)
    for other, message in ((id, "must differ from the memory in the URL"), (NOBODY, "a memory of this namespace")):
        (error,) = problem(post_action(agent, id, "contradict", {"memory": other}), 400)["errors"]
        assert error["at"] == "memory"
        assert message in error["message"]
    elsewhere = empty_namespace("there")
    foreign = Client(headers=key_to(elsewhere)).post(
        "/api/v1/there/memories/", {"content": "x"}, content_type="application/json"
    )
    assert post_action(agent, id, "contradict", {"memory": foreign.json()["memory"]["id"]}).status_code == 400
    assert Memory.objects.get(id=id).belief == 5.0


def test_a_split_gives_both_back(agent: Client) -> None:
    survivor, gone = merge_two(agent)
    data = post_action(agent, gone, "split").json()
    assert (data["memory"]["id"], data["memory"]["status"], data["memory"]["merged_into_id"]) == (gone, "active", None)
    assert (data["survivor"]["id"], data["survivor"]["repetitions"], data["survivor"]["belief"]) == (survivor, 0, 5.0)
    assert problem(post_action(agent, gone, "split"), 409)["code"] == "not_merged"


def test_what_is_not_content_can_be_changed(agent: Client) -> None:
    id = remember_content(agent, tags=["old"], valid_until="2036-05-01T00:00:00Z")
    changes = {
        "tags": ["new"],
        "importance": 0.9,
        "kind": "semantic",
        "memory_score": 0.3,
        "valid_until": None,
        "event_at": "2026-03-02T00:00:00Z",
        "metadata": {"seen": True},
    }
    data = edit(agent, id, changes).json()
    assert {name: data[name] for name in changes} == changes
    assert agent.get(f"/api/v1/here/memories/{id}/").json() == data
    event = ScoreEvent.objects.get(cause="edited")
    assert set(event.after) == {"importance", "kind", "memory_score", "valid_until", "event_at"}


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "body", "must name one of tags, kind"),
        ([], "body", "must be an object"),
        ({"content": "Plays the oboe"}, "content", "POST a correction to …/correct/"),
        ({"type": "Event"}, "type", "POST a correction to …/correct/"),
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
    id = remember_content(agent, valid_until="2036-05-01T00:00:00Z")
    before = agent.get(f"/api/v1/here/memories/{id}/").json()
    (error,) = problem(edit(agent, id, body), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert agent.get(f"/api/v1/here/memories/{id}/").json() == before


def test_an_action_makes_a_fixed_number_of_sql_queries(
    agent: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    survivor, gone = merge_two(agent)
    other = remember_content(agent, "The moon is full")
    for session in range(10):
        remember_content(agent, DATABASE[0], session=f"s{session}")
    for most, what, id, body in (
        (15, "confirm", survivor, {}),
        (15, "feedback", survivor, {"useful": True}),
        (20, "contradict", survivor, {"memory": other}),
        (40, "split", gone, {}),
        (45, "correct", survivor, {"content": "The invoicing service uses SQLite"}),
    ):
        with django_assert_max_num_queries(most):
            assert post_action(agent, id, what, body).status_code in (200, 201)
