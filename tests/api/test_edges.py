"""Edges over REST: between entities and between memories."""

from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.models import Entity, EntityEdge, Memory, MemoryEdge, Namespace
from scoring.dedup import normalize
from tests.support.memory_actions import NOBODY, post_action, remember_content
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db


def entity(namespace: Namespace, name: str) -> str:
    return str(Entity.objects.create(namespace=namespace, name=name, normalised=normalize(name)).id)


def relate(agent: Client, source: str, predicate: str, target: str, **more: Any) -> Any:
    body = {"source": source, "predicate": predicate, "target": target, **more}
    return agent.post("/api/v1/here/edges/", body, content_type="application/json")


def link(agent: Client, source: str, kind: str, target: str, **more: Any) -> Any:
    return post_action(agent, source, "edges", {"kind": kind, "target": target, **more})


def test_entities_are_related_listed_and_filtered(
    agent: Client, namespace: Namespace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    maya, arrive, lund = (entity(namespace, name) for name in ("Maya", "Arrive", "Lund"))
    made = relate(agent, maya, "works at", arrive, confidence=0.8)
    assert made.status_code == 201
    data = made.json()
    assert (data["source"], data["target"]) == ({"id": maya, "name": "Maya"}, {"id": arrive, "name": "Arrive"})
    assert (data["predicate"], data["confidence"], data["memory"]) == ("works at", 0.8, None)
    relate(agent, arrive, "lies in", lund)
    # Namespace, key, and the edges with both ends.
    with django_assert_num_queries(2):
        edges = agent.get("/api/v1/here/edges/").json()["results"]
    assert [edge["predicate"] for edge in edges] == ["lies in", "works at"]
    for query, found in (
        (f"?entity={maya}", ["works at"]),
        (f"?entity={arrive}", ["lies in", "works at"]),
        ("?predicate=lies+in", ["lies in"]),
        (f"?entity={maya}&predicate=lies+in", []),
    ):
        assert [edge["predicate"] for edge in agent.get(f"/api/v1/here/edges/{query}").json()["results"]] == found


def test_an_edge_between_entities_is_drawn_once_and_taken_away(agent: Client, namespace: Namespace) -> None:
    maya, arrive = entity(namespace, "Maya"), entity(namespace, "Arrive")
    id = relate(agent, maya, "works at", arrive).json()["id"]
    assert problem(relate(agent, maya, "works at", arrive, confidence=0.2), 409)["code"] == "edge_exists"
    assert agent.delete(f"/api/v1/here/edges/{id}/").status_code == 204
    assert problem(agent.delete(f"/api/v1/here/edges/{id}/"), 404)["detail"] == f"There is no edge {id} here."
    assert not EntityEdge.objects.exists()


def test_an_edge_needs_two_entities_of_the_namespace(agent: Client, namespace: Namespace) -> None:
    maya, foreign = entity(namespace, "Maya"), entity(empty_namespace("there"), "Arrive")
    for source, target, at in ((maya, foreign, "target"), (foreign, maya, "source"), (maya, NOBODY, "target")):
        (error,) = problem(relate(agent, source, "knows", target), 400)["errors"]
        assert error["at"] == at
        assert "must be an entity of this namespace" in error["message"]
    (error,) = problem(relate(agent, maya, "knows", maya), 400)["errors"]
    assert error["message"].startswith("must differ from the source")
    assert not EntityEdge.objects.exists()


def test_an_edge_is_taken_away_in_its_own_namespace_alone(agent: Client) -> None:
    there = empty_namespace("there")
    ends = [Entity.objects.create(namespace=there, name=name, normalised=name) for name in ("a", "b")]
    edge = EntityEdge.objects.create(namespace=there, source=ends[0], predicate="knows", target=ends[1])
    assert agent.delete(f"/api/v1/here/edges/{edge.id}/").status_code == 404
    assert EntityEdge.objects.exists()


def test_memories_are_linked_and_listed_from_both_ends(agent: Client) -> None:
    one, other = remember_content(agent, "Plays the cello"), remember_content(agent, "Runs on Sundays")
    made = link(agent, one, "supports", other, weight=0.5)
    assert made.status_code == 201
    assert {name: made.json()[name] for name in ("source", "kind", "target", "weight")} == {
        "source": one,
        "kind": "supports",
        "target": other,
        "weight": 0.5,
    }
    for id in (one, other):
        page = agent.get(f"/api/v1/here/memories/{id}/edges/").json()
        assert [edge["id"] for edge in page["results"]] == [made.json()["id"]]
    assert Memory.objects.get(id=other).belief == 5.0
    assert agent.get(f"/api/v1/here/memories/{NOBODY}/edges/").status_code == 404


def test_a_circle_in_an_order_is_refused_with_its_path(agent: Client) -> None:
    a, b = remember_content(agent, "Plays the cello"), remember_content(agent, "Runs on Sundays")
    link(agent, a, "continuation", b)
    data = problem(link(agent, b, "continuation", a), 409)
    assert data["code"] == "cycle"
    assert data["detail"] == f"This would close a cycle of continuation: {b} → {a} → {b}."
    assert link(agent, b, "similar", a).status_code == 201
    assert problem(link(agent, b, "similar", a), 409)["code"] == "edge_exists"


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "kind", "is required"),
        ({"kind": "likes"}, "kind", "must be one of supports"),
        ({"kind": "contradiction"}, "kind", "POST to …/contradict/"),
        ({"kind": "similar", "target": NOBODY}, "target", "must be a memory of this namespace"),
        ({"kind": "similar", "target": "x"}, "target", "must be a UUID"),
        ({"kind": "similar", "weight": 2}, "weight", "must be at most 1"),
    ],
)
def test_a_bad_edge_is_refused_at_its_place(agent: Client, body: dict[str, Any], at: str, message: str) -> None:
    one, other = remember_content(agent, "Plays the cello"), remember_content(agent, "Runs on Sundays")
    errors = problem(post_action(agent, one, "edges", {"target": other} | body), 400)["errors"]
    assert [(error["at"], message in error["message"]) for error in errors] == [(at, True)]
    assert not MemoryEdge.objects.exists()


def test_a_memory_bears_not_on_itself(agent: Client) -> None:
    one = remember_content(agent)
    (error,) = problem(link(agent, one, "similar", one), 400)["errors"]
    assert error["at"] == "target"


def test_a_contradiction_that_is_taken_away_gives_belief_back(agent: Client) -> None:
    one, other = remember_content(agent, "Plays the cello"), remember_content(agent, "Runs on Sundays")
    post_action(agent, one, "contradict", {"memory": other})
    (edge,) = agent.get(f"/api/v1/here/memories/{one}/edges/").json()["results"]
    assert agent.delete(f"/api/v1/here/edges/{edge['id']}/").status_code == 204
    assert {memory.belief for memory in Memory.objects.all()} == {5.0}
