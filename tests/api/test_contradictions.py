"""What two stored memories do to each other, seen by the agent that asks: outdated, or both in the context."""

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def store(agent: Client, **body: Any) -> dict[str, Any]:
    answer = agent.post("/api/v1/here/memories/", body, content_type="application/json")
    assert answer.status_code in (200, 201), answer.content
    outcome: dict[str, Any] = answer.json()
    return outcome


def retrieve(agent: Client, query: str) -> dict[str, Any]:
    body = {"query": query, "system": "recall", "params": {"confidence_gate": False}, "explain": "none"}
    answer = agent.post("/api/v1/here/retrieve/", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def contents_in_context(found: dict[str, Any]) -> set[str]:
    return {entry["content"] for group in found["context"].values() for entry in group}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Server 42 runs Debian", "Server 43 runs Debian"),
        ("Invoice 1001 is paid", "Invoice 1002 is paid"),
        ("Ticket OPS-17 is closed", "Ticket OPS-18 is closed"),
        ("Ran 10 km on 2 May", "Ran 10 km on 9 May"),
        ("Approved pull request 311", "Approved pull request 312"),
        ("Plan A costs 10 euros", "Plan B costs 10 euros"),
        ("Maya likes tea", "Maya likes coffee"),
        ("Dmitri is learning chess with care", "Dmitri is learning chess last year"),
    ],
)
def test_what_is_said_of_two_things_or_times_stays_two_memories_and_neither_is_outdated(
    agent: Client, one: str, other: str
) -> None:
    outcomes = [store(agent, content=text, session=text) for text in (one, other)]
    assert {outcome["outcome"] for outcome in outcomes} <= {"stored", "escalated"}
    found = retrieve(agent, one)
    assert {result["content"]: result["outdated"] for result in found["results"]} == {one: False, other: False}
    assert contents_in_context(found) == {one, other}
    assert {outcome["memory"]["belief"] for outcome in outcomes} == {5.0}


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Server 42 runs Debian 11", "Server 42 runs Debian 12", "another number"),
        ("Invoice 1001 is due on 3 May", "Invoice 1001 is due on 10 May", "another date"),
        ("Ticket OPS-17 is open", "Ticket OPS-17 is closed", "the opposite"),
        ("Maya lives in Lyon", "Maya lives in Porto", "another value"),
        ("Maya eats meat on Sundays", "Maya does not eat meat on Sundays", "negation"),
    ],
)
def test_another_value_of_the_same_attribute_makes_the_earlier_outdated(
    agent: Client, one: str, other: str, reason: str
) -> None:
    triple = {"subject": "Maya", "predicate": "lives_in"}
    bodies = [
        {"content": text, **(triple | {"object": text.split()[-1]} if "lives" in text else {})} for text in (one, other)
    ]
    store(agent, **bodies[0])
    assert store(agent, **bodies[1])["reason"] == reason
    found = retrieve(agent, other)
    assert {result["content"]: result["outdated"] for result in found["results"]} == {one: True, other: False}
    assert contents_in_context(found) == {other}


def test_a_triple_about_two_numbered_things_of_one_subject_is_no_contradiction(agent: Client) -> None:
    triple = {"subject": "the annual report", "predicate": "status"}
    for number, status in ((3, "written"), (4, "planned")):
        outcome = store(agent, content=f"Chapter {number} of the annual report is {status}", object=status, **triple)
    assert (outcome["outcome"], outcome["reason"]) == ("stored", "")


@pytest.mark.parametrize("subject", ["", "user", "The user", "I", "allergies", "Diet"])
def test_two_users_allergies_are_neither_one_memory_nor_a_contradiction(agent: Client, subject: str) -> None:
    said = [("ana", "Is allergic to peanuts"), ("ben", "Is allergic to peanuts"), ("eva", "Is not allergic to peanuts")]
    for user, content in said:
        outcome = store(agent, content=content, user=user, session=user, subject=subject)
        assert (outcome["outcome"], outcome["memory"]["belief"]) == ("stored", 5.0)
    results = retrieve(agent, "Who is allergic to peanuts?")["results"]
    assert [result["outdated"] for result in results] == [False] * 3


def test_an_attribute_with_a_colon_is_of_its_user(agent: Client) -> None:
    for user in ("ana", "ben"):
        outcome = store(agent, content="Allergies: peanuts", subject="Allergies", user=user, session=user)
        assert (outcome["outcome"], outcome["memory"]["user"]) == ("stored", user)


def test_two_users_may_contradict_each_other_about_a_thing_that_both_name(agent: Client) -> None:
    for user, home in (("ana", "Lyon"), ("ben", "Porto")):
        body = {"content": f"Maya lives in {home}", "subject": "Maya", "predicate": "lives_in", "object": home}
        outcome = store(agent, **body, user=user, session=user)
    assert outcome["reason"] == "another value"
    results = retrieve(agent, "Where does Maya live?")["results"]
    assert {result["user"]: result["outdated"] for result in results} == {"ana": True, "ben": False}
    for user, home in (("ana", "Lyon"), ("ben", "Porto")):
        assert store(agent, content=f"Lives in {home}", user=user, session=user)["reason"] == ""


def test_a_close_memory_in_other_words_waits_for_a_verdict_and_says_why(agent: Client) -> None:
    store(agent, content="The nightly backup of the ledger takes two hours", session="a")
    outcome = store(agent, content="The nightly backup of the ledger takes about two hours", session="b")
    assert outcome["outcome"] == "escalated"
    (review,) = agent.get("/api/v1/here/reviews/").json()["results"]
    assert review["why"].endswith("but they are not in the same words")
