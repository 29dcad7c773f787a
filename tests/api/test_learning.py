"""What agents say of memories changes what is served: feedback, contradictions, corroborations and accesses."""

from typing import Any

import pytest
from django.test import Client

from memories.models import Namespace
from scoring.systems.blend import BlendParams
from tests.support.memory_actions import post_action, remember_content
from tests.support.rows import store_entity

pytestmark = pytest.mark.django_db
PAIR = ("Maya keeps her bicycle in the cellar", "Priya keeps her bicycle in the garage")
OTHERS = ("The cellar is flooded", "Trains leave at noon", "Bread is baked on Fridays", "Alma is allergic to nuts")
QUERY = "Where is a bicycle kept?"
AMPLITUDES = BlendParams()


@pytest.fixture
def pair(agent: Client) -> tuple[str, str]:
    """Two memories that fit the query about as well, best first, among others that do not."""
    for content in (*PAIR, *OTHERS):
        remember_content(agent, content)
    first, second = results_of(agent)[:2]
    assert first["content"] in PAIR
    assert second["content"] in PAIR
    assert second["score"] > 0.97 * first["score"]
    return first["id"], second["id"]


def results_for_pair(agent: Client, pair: tuple[str, str], **params: float) -> list[dict[str, Any]]:
    """The pair among the results, in order."""
    return [result for result in results_of(agent, params={"abstain_below": 0, **params}) if result["id"] in pair]


def results_of(agent: Client, query: str = QUERY, **body: Any) -> list[dict[str, Any]]:
    """The results of what is served, explored without counting as an access."""
    body = {"query": query, "record": False, "params": {"abstain_below": 0}, **body}
    response = agent.post("/api/v1/here/retrieve/", body, content_type="application/json")
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def by_id(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {result["id"]: result for result in results}


def test_feedback_that_a_memory_was_not_useful_lowers_it_below_a_close_one(
    agent: Client, pair: tuple[str, str]
) -> None:
    for _ in range(3):
        assert post_action(agent, pair[0], "feedback", {"useful": False}).status_code == 200
    results = results_for_pair(agent, pair)
    assert [result["id"] for result in results] == [pair[1], pair[0]]
    assert by_id(results)[pair[0]]["utility"] == pytest.approx(1 + AMPLITUDES.utility * (1 / 5 - 1 / 2))
    assert by_id(results)[pair[1]]["utility"] == 1.0


def test_feedback_that_a_memory_was_useful_raises_it_above_a_close_one(agent: Client, pair: tuple[str, str]) -> None:
    for _ in range(3):
        post_action(agent, pair[1], "feedback", {"useful": True})
    results = results_for_pair(agent, pair)
    assert [result["id"] for result in results] == [pair[1], pair[0]]
    assert results[0]["utility"] == pytest.approx(1 + AMPLITUDES.utility * (4 / 5 - 1 / 2))


def test_contradictions_lower_a_memory_below_a_close_one(agent: Client, pair: tuple[str, str]) -> None:
    others = [result["id"] for result in results_of(agent) if result["id"] not in pair]
    for other in others[:3]:
        assert post_action(agent, pair[0], "contradict", {"memory": other}).status_code == 200
    results = results_for_pair(agent, pair)
    assert [result["id"] for result in results] == [pair[1], pair[0]]
    assert results[1]["evidence"] == pytest.approx(1 + AMPLITUDES.belief * (0.5 / 10 - 1 / 2))


def test_corroborations_raise_a_memory_above_a_close_one(
    agent: Client, namespace: Namespace, pair: tuple[str, str]
) -> None:
    content = by_id(results_of(agent))[pair[1]]["content"]
    store_entity(namespace, content.split()[0])
    for number in range(4):
        assert remember_content(agent, content, source=f"document {number}") == pair[1]
    first, second = results_for_pair(agent, pair, trust=0.0)
    assert (first["id"], second["id"]) == (pair[1], pair[0])
    assert first["evidence"] == pytest.approx(1 + AMPLITUDES.belief * (7 / 10 - 1 / 2))
    assert second["evidence"] == 1.0


def test_accesses_raise_a_memory_up_to_the_amplitude(agent: Client, pair: tuple[str, str]) -> None:
    before = by_id(results_of(agent))[pair[1]]
    assert before["use"] == 1.0
    seen = [before["score"]]
    for number in range(4):
        content = before["content"]
        results_of(agent, content, top_k=1, session=f"session {number}", record=True)
        seen.append(by_id(results_of(agent))[pair[1]]["score"])
    assert seen == sorted(set(seen))
    now = by_id(results_of(agent))[pair[1]]
    assert 1.0 < now["use"] <= 1 + AMPLITUDES.use
    assert now["score"] / before["score"] == pytest.approx(now["use"])
    assert by_id(results_of(agent))[pair[0]]["use"] == 1.0


def test_the_only_memory_with_the_querys_term_gets_the_full_weight_of_bm25(
    agent: Client, pair: tuple[str, str]
) -> None:
    code = remember_content(agent, "The parcel waits under pick-up code 4471-KX")
    hits = by_id(results_of(agent, "4471-KX"))[code]["retrievers"]
    weights = AMPLITUDES.weight_bm25 / (AMPLITUDES.weight_bm25 + AMPLITUDES.weight_semantic)
    assert hits["bm25"]["contribution"] == pytest.approx(weights)
