"""The review queue over REST: pairs are listed with both memories and decided once."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import Memory, MemoryEdge, Namespace, ReviewItem, ScoreEvent
from memories.models.choices import Role, Status
from tests.support.access import key_to
from tests.support.memory_actions import post_action, remember_content
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db
COFFEE = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"


@pytest.fixture
def pair(agent: Client) -> tuple[str, str]:
    """Two memories that were escalated."""
    one, other = (
        remember_content(agent, COFFEE[0], session="a", tags=["drink"]),
        remember_content(agent, COFFEE[1], session="b"),
    )
    assert ReviewItem.objects.get().state == "pending"
    return one, other


def list_reviews(agent: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = agent.get(f"/api/v1/here/reviews/{query}").json()["results"]
    return found


def decide(agent: Client, verdict: Any, id: Any = None) -> Any:
    address = f"/api/v1/here/reviews/{id or ReviewItem.objects.get().id}/decide/"
    return agent.post(address, {"verdict": verdict}, content_type="application/json")


def test_a_pair_is_listed_with_both_memories_and_why(agent: Client, pair: tuple[str, str]) -> None:
    (item,) = list_reviews(agent)
    assert (item["first"]["content"], item["second"]["content"]) == COFFEE
    assert (item["first"]["tags"], item["state"], item["decided_at"]) == (["drink"], "pending", None)
    assert item["cosine"] == pytest.approx(0.901, abs=0.002)
    assert item["why"] == (
        "cosine 0.901 is between 0.85, below which both are kept, and 0.92, above which they are duplicates"
    )
    assert list_reviews(agent, "?state=distinct") == []


def test_a_page_of_pairs_makes_a_fixed_number_of_sql_queries(
    agent: Client, namespace: Namespace, pair: tuple[str, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        other = Memory.objects.get(id=remember_content(agent, f"Reads book {number * 7919}"))
        ReviewItem.objects.create(namespace=namespace, first_id=pair[0], second_id=other.id, cosine=0.9)
    agent.get("/api/v1/here/")
    # Namespace, key, the pairs with their memories, and the tags of both sides.
    with django_assert_num_queries(4):
        assert len(list_reviews(agent)) == 5
    assert len(list_reviews(agent, "?limit=2")) == 2


def test_a_duplicate_is_merged_into_the_earlier_one(agent: Client, pair: tuple[str, str]) -> None:
    data = decide(agent, "duplicate").json()
    assert (data["state"], data["decided_by"]) == ("duplicate", ReviewItem.objects.get().decided_by)
    assert data["decided_by"]
    assert data["decided_at"]
    assert (data["first"]["status"], data["first"]["repetitions"]) == ("active", 1)
    assert (data["second"]["status"], data["second"]["merged_into_id"]) == ("merged", pair[0])
    assert list_reviews(agent) == []
    assert [item["id"] for item in list_reviews(agent, "?state=duplicate")] == [data["id"]]


def test_a_duplicate_that_is_split_again_counts_as_distinct(agent: Client, pair: tuple[str, str]) -> None:
    decide(agent, "duplicate")
    assert post_action(agent, pair[1], "split").status_code == 200
    (item,) = list_reviews(agent, "?state=distinct")
    assert item["why"] == "split"


def test_distinct_memories_stay_as_they_are(agent: Client, pair: tuple[str, str]) -> None:
    events = ScoreEvent.objects.count()
    data = decide(agent, "distinct").json()
    assert (data["state"], data["first"]["status"], data["second"]["status"]) == ("distinct", "active", "active")
    assert ScoreEvent.objects.count() == events


def test_a_contradiction_costs_both_belief_once(agent: Client, pair: tuple[str, str]) -> None:
    before = Memory.objects.get(id=pair[0]).belief
    post_action(agent, pair[0], "contradict", {"memory": pair[1]})
    assert decide(agent, "contradiction").json()["state"] == "contradiction"
    assert Memory.objects.get(id=pair[0]).belief == before - 1.5
    assert MemoryEdge.objects.filter(kind="contradiction").count() == 1


def test_a_pair_is_decided_once(agent: Client, pair: tuple[str, str]) -> None:
    decide(agent, "distinct")
    data = problem(decide(agent, "duplicate"), 409)
    assert data["code"] == "already_decided"
    assert "distinct" in data["detail"]
    assert Memory.objects.filter(status=Status.ACTIVE).count() == 2


def test_a_pair_rests_while_one_of_it_is_not_active(agent: Client, pair: tuple[str, str]) -> None:
    correction = post_action(agent, pair[1], "correct", {"content": "Maya drinks no coffee at all"}).json()["memory"][
        "id"
    ]
    assert all(item["second"]["id"] != pair[1] for item in list_reviews(agent))
    data = problem(decide(agent, "duplicate", ReviewItem.objects.get(second_id=pair[1]).id), 409)
    assert data["code"] == "memory_superseded"
    assert correction in data["detail"]
    assert Memory.objects.get(id=pair[0]).status == Status.ACTIVE


@pytest.mark.parametrize("verdict", ["pending", "same", None, 3])
def test_a_verdict_is_one_of_three(agent: Client, pair: tuple[str, str], verdict: Any) -> None:
    (error,) = problem(decide(agent, verdict), 400)["errors"]
    assert error["at"] == "verdict"
    assert ReviewItem.objects.get().state == "pending"


def test_a_review_of_another_namespace_is_not_there(agent: Client, pair: tuple[str, str]) -> None:
    stranger = Client(headers=key_to(empty_namespace("there"), Role.WRITE))
    address = f"/api/v1/there/reviews/{ReviewItem.objects.get().id}/decide/"
    answer = stranger.post(address, {"verdict": "distinct"}, content_type="application/json")
    assert problem(answer, 404)["detail"] == f"There is no review {ReviewItem.objects.get().id} here."
    assert ReviewItem.objects.get().state == "pending"
