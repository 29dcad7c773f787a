"""Memory edges: what paths of edges reach from the best of the semantic list."""

import random
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memories.contracts.new_memory import NewMemory
from memories.models import Memory, MemoryEdge, MemoryVector, Namespace
from memories.models.choices import EdgeKind
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from memories.writing.remember import remember
from tests.support.retrieval_world import (
    NOW,
    ScoredIds,
    assert_same_list,
    cosines,
    make_query,
    run_retriever,
    sort_scores,
)
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]
QUERY = "Which animals live in the garden?"
ANIMALS = ("cat", "dog", "owl", "hedgehog", "frog", "bee", "fox", "mole", "snail", "robin", "toad", "newt", "wren")


def store_garden(seed: int) -> Namespace:
    """Memories under random edges; some have expired, are not yet valid, were archived or belong to another user."""
    chance = random.Random(seed)
    namespace = Namespace.objects.create(slug=f"garden-{seed}", title="Garden", clock=NOW)
    remember(
        namespace,
        [
            NewMemory(content=f"The {animal} sleeps in the {place}", type="Fact", created_at=NOW - timedelta(days=40))
            for animal in ANIMALS
            for place in ("shed", "tree")
        ],
        by="tests",
    )
    MemoryEdge.objects.within(namespace).delete()
    stored = list(Memory.objects.within(namespace).order_by("id"))
    for one in stored:
        state = chance.choices(("", "expired", "future", "archived", "other"), (12, 1, 1, 1, 1))[0]
        days = {"expired": {"valid_until": NOW - timedelta(days=1)}, "future": {"valid_from": NOW + timedelta(days=1)}}
        changes: dict[str, Any] = {**days.get(state, {}), "user": "ada" if state == "other" else "bo"}
        Memory.objects.within(namespace).filter(id=one.id).update(
            **changes, status="archived" if state == "archived" else "active"
        )
        MemoryVector.objects.within(namespace).filter(memory_id=one.id).update(active=state != "archived")
    for _ in range(45):
        source, target = sorted(chance.sample(stored, 2), key=lambda one: one.id, reverse=True)
        kind, at = chance.choice(EdgeKind.values), NOW - timedelta(days=chance.choice((2, 30)))
        if not MemoryEdge.objects.within(namespace).filter(source=source, target=target, kind=kind).exists():
            row(MemoryEdge, namespace, source=source, target=target, kind=kind, created_at=at)
    return namespace


def breadth_first_search(namespace: Namespace, query: Any, params: Mapping[str, int], now: datetime = NOW) -> ScoredIds:
    """A search in breadth over the edges, from the best of the semantic list that are valid."""
    users = query.filters.users
    rows = {
        one.id: one
        for one in Memory.objects.within(namespace)
        if (one.status == "active" or now < NOW)  # whatever is archived was archived after that
        and (not users or one.user in users)
        and one.created_at <= now
    }
    valid = {
        id
        for id, one in rows.items()
        if (one.valid_until is None or one.valid_until > now) and (one.valid_from or one.created_at) <= now
    }
    near = {id: cosine for id, cosine in cosines(namespace, understand(query)).items() if id in rows}
    anchors = [id for id, _ in sort_scores(near, near)[: params["pool"]] if id in valid][: params["anchors"]]
    neighbours = neighbours_at(namespace, now)
    scores: dict[UUID, float] = dict.fromkeys(anchors, 0.0)
    border: Collection[UUID] = anchors
    for hop in range(1, params["traversal_depth"] + 1):
        if len(scores) - len(anchors) >= params["pool"]:
            break
        border = {end for id in border if id in valid for end in neighbours.get(id, ())} & rows.keys() - scores.keys()
        scores |= dict.fromkeys(border, 1 / hop)
    found = {id: score for id, score in scores.items() if id not in anchors}
    return sort_scores(found, near)[: params["pool"]]


def neighbours_at(namespace: Namespace, now: datetime) -> dict[UUID, set[UUID]]:
    """The memories that an edge joins with each, as of a time."""
    neighbours: dict[UUID, set[UUID]] = {}
    for edge in MemoryEdge.objects.within(namespace).filter(created_at__lte=now):
        neighbours.setdefault(edge.source_id, set()).add(edge.target_id)
        neighbours.setdefault(edge.target_id, set()).add(edge.source_id)
    return neighbours


@pytest.mark.parametrize("seed", range(3))
def test_the_list_is_that_of_a_search_in_breadth(seed: int) -> None:
    namespace = store_garden(seed)
    lengths = set()
    for depth in (1, 2, 3):
        for pool, anchors in ((10, 3), (20, 2), (50, 10)):
            params = {"pool": pool, "anchors": anchors, "traversal_depth": depth}
            for more in ({}, {"filters": Filters(users=("bo",))}):
                query = make_query(namespace, QUERY, "memorysync", params=params, **more)
                given = run_retriever(query, "edges", pool=pool)
                assert_same_list(given, breadth_first_search(namespace, query, params))
                lengths.add(len(given))
    assert len(lengths) > 3


def test_an_edge_leads_nowhere_before_it_was_there() -> None:
    namespace = store_garden(0)
    now = NOW - timedelta(days=10)
    params = {"pool": 50, "anchors": 3, "traversal_depth": 2}
    query = make_query(namespace, QUERY, "memorysync", params=params, as_of=now)
    then = run_retriever(query, "edges", pool=50)
    assert_same_list(then, breadth_first_search(namespace, query, params, now))
    assert neighbours_at(namespace, now) != neighbours_at(namespace, NOW)


@pytest.mark.parametrize("seed", range(3))
def test_every_memory_that_edges_reach_has_its_boost(seed: int) -> None:
    namespace = store_garden(seed)
    for depth in (1, 2, 3):
        params = {"pool": 10, "anchors": 2, "traversal_depth": depth}
        retrieval = retrieve(make_query(namespace, QUERY, "memorysync", params=params, top_k=50))
        boost = retrieval.ranking.score.find("edge boost")
        assert boost is not None
        assert boost.present is not None
        listed = retrieval.signals.rank("edges") < float("inf")
        assert listed.any()
        assert (boost.value[listed & boost.present] > 0).all()
        assert boost.present[listed].all()


def test_without_a_boost_and_a_graph_weight_edges_are_not_followed(world: Namespace) -> None:
    off = dict.fromkeys(make_query(world, QUERY, "memorysync").config.system.weighted_by["edges"], 0)
    assert retrieve(make_query(world, QUERY, "memorysync", params=off)).active_retrievers == ("semantic",)
    assert retrieve(make_query(world, QUERY, "memorysync")).active_retrievers == ("semantic", "edges")
