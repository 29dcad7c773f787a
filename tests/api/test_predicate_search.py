"""In the `ts_rank_cd` mode a memory is found by its predicate, though its content has none of the query's words."""

import importlib
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from memories.models import Namespace, PredicatePosting
from memories.models.choices import Role
from memories.writing.lock import lock_memories
from memories.writing.merge import merge_memories
from tests.support.access import key_to
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(namespace: Namespace) -> Client:
    """A client with an admin's key, who may also forget and restore."""
    Namespace.objects.filter(id=namespace.id).update(embedder="wordllama-256")
    return Client(headers=key_to(namespace, Role.ADMIN))


def store(client: Client, content: str, predicate: str = "", slug: str = "here", **more: Any) -> str:
    """Store a memory and return its id."""
    body = {"content": content, "predicate": predicate, "source_level": "direct", "type": "Fact", **more}
    response = client.post(f"/api/v1/{slug}/memories/", body, "application/json")
    assert response.status_code == 201, response.content
    id: str = response.json()["memory"]["id"]
    return id


def lexical_list(
    client: Client, query: str, lexical: str = "ts_rank_cd", slug: str = "here", **more: Any
) -> dict[str, float]:
    """The memories that the lexical retriever found, with its scores, best first."""
    body = {"query": query, "system": "recall", "params": {"lexical": lexical}, "record": False, **more}
    response = client.post(f"/api/v1/{slug}/retrieve/", body, "application/json")
    assert response.status_code == 200, response.content
    assert response.json()["timed_out"] == []
    lists = [(one["id"], one["retrievers"].get("bm25")) for one in response.json()["results"]]
    ranked = sorted((place["rank"], id, place["score"]) for id, place in lists if place)
    return {id: score for _, id, score in ranked}


def act(client: Client, id: str, what: str, **body: Any) -> Any:
    """Do something to a memory."""
    response = client.post(f"/api/v1/here/memories/{id}/{what}/", body, "application/json")
    assert response.status_code in (200, 201), response.content
    return response.json()


def test_a_predicate_finds_what_no_content_says(agent: Client) -> None:
    car = store(agent, "Maya: Volvo, since 2019", "drives")
    store(agent, "Jonas: tram number four", "rides")
    assert list(lexical_list(agent, "Who drives?")) == [car]
    assert lexical_list(agent, "Who drives?", "bm25") == {}
    assert list(lexical_list(agent, "driving a Volvo")) == [car]


def test_content_weighs_more_than_the_predicate_as_postgres_ranks_them(agent: Client) -> None:
    by_predicate = store(agent, "Maya: Volvo, since 2019", "drives")
    by_content = store(agent, "Jonas drives the tram of line four", "works as")
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT ts_rank_cd(setweight(to_tsvector('english', content), 'A')
                || setweight(to_tsvector('english', predicate), 'B'), 'drive'::tsquery, 32), id
            FROM memories_memory ORDER BY 1 DESC"""
        )
        expected = {str(id): score for score, id in cursor.fetchall()}
    assert list(expected) == [by_content, by_predicate]
    assert lexical_list(agent, "drives") == pytest.approx(expected)
    assert list(lexical_list(agent, "drives")) == [by_content, by_predicate]


def test_filters_and_other_namespaces_hold_for_predicates(agent: Client) -> None:
    mine = store(agent, "Maya: Volvo, since 2019", "drives", user="maya", tags=["car"])
    theirs = store(agent, "Jonas: tram number four", "drives", user="jonas", type="Relation")
    other = empty_namespace("there")
    stranger = Client(headers=key_to(other, Role.WRITE))
    elsewhere = store(stranger, "Priya: a bus", "drives", slug="there")
    assert set(lexical_list(agent, "drives")) == {mine, theirs}
    assert set(lexical_list(agent, "drives", types=["Relation"])) == {theirs}
    assert set(lexical_list(agent, "drives", tags=["car"])) == {mine}
    assert set(lexical_list(agent, "drives", users=["maya"])) == {mine}
    assert set(lexical_list(agent, "drives", tags=["train"])) == set()
    assert set(lexical_list(stranger, "drives", slug="there")) == {elsewhere}


def test_the_past_is_searched_by_the_predicates_it_had(agent: Client) -> None:
    gone = store(agent, "Maya: Volvo, since 2019", "drives")
    before = timezone.now()
    replaced = act(agent, gone, "correct", content="Maya: Saab, since 2024")["memory"]["id"]
    assert set(lexical_list(agent, "drives")) == {replaced}
    assert set(lexical_list(agent, "drives", as_of=before.isoformat())) == {gone}
    assert set(lexical_list(agent, "drives", as_of=(before - timedelta(days=1)).isoformat())) == set()


def predicates() -> set[tuple[str, str]]:
    """The predicate index: terms with the memories that hold them."""
    return {(term, str(id)) for term, id in PredicatePosting.objects.values_list("term", "memory_id")}


def test_the_index_of_predicates_follows_every_change(agent: Client, namespace: Namespace) -> None:
    one, other = store(agent, "Maya: Volvo, since 2019", "drives"), store(agent, "Maya has a Volvo at home", "keeps")
    assert predicates() == {("drive", one), ("keep", other)}
    with lock_memories(namespace, UUID(one), UUID(other), by="tests") as locked:
        merge_memories(locked, locked.get(UUID(one)), locked.get(UUID(other)), "the same car")
    assert predicates() == {("drive", one)}
    act(agent, other, "split")
    assert predicates() == {("drive", one), ("keep", other)}
    corrected = act(agent, one, "correct", content="Maya: Saab, since 2024")["memory"]["id"]
    assert predicates() == {("drive", corrected), ("keep", other)}
    assert agent.delete(f"/api/v1/here/memories/{other}/").status_code in (200, 204)
    assert predicates() == {("drive", corrected)}
    assert set(lexical_list(agent, "drives keeps")) == {corrected}


def test_a_crowded_predicate_finds_those_with_most_terms_and_then_the_newest(
    agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("Oslo", "Lima", "Bonn", "Graz", "Kyiv", "Riga")
    ids = [store(agent, f"{name}: {number} trams", "runs at night") for number, name in enumerate(names)]
    both = store(agent, "Cork: buses", "runs lately")
    newest = store(agent, "Bath: ferries", "runs")
    monkeypatch.setattr(importlib.import_module("memories.retrieval.retrievers.bm25"), "TS_RANK_BUDGET", 3)
    assert set(lexical_list(agent, "runs lately")) == {both, newest, ids[-1]}
