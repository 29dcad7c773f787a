"""Clusters, concept drift and what may be archived."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from memories.maintenance.kmeans import cluster_vectors
from memories.models import Cluster, Memory, MemoryVector, Namespace, Posting, ScoreEvent
from memories.models.choices import Status
from tests.support.reflection import NOW, add_entity, reflect, reload_memory, store_memory

pytestmark = pytest.mark.django_db
TEXTS = (
    "Maya drinks coffee in the morning",
    "The espresso machine makes coffee",
    "Coffee beans come from the roastery",
    "The ledger runs on a Postgres cluster",
    "Postgres replicas lag behind at night",
    "The Postgres backup is tested weekly",
    "Elias plays the cello in an orchestra",
    "The cello needs a new string",
)


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", clock=NOW)


def state() -> Any:
    clusters = [(one.id, one.label, one.size, list(one.centroid)) for one in Cluster.objects.order_by("id")]
    return clusters, sorted(Memory.objects.values_list("id", "cluster_id"))


def test_facts_lie_in_clusters_with_a_size_a_middle_and_a_name(namespace: Namespace) -> None:
    for text in TEXTS:
        store_memory(namespace, text)
    facts = reflect(namespace, "clusters")
    assert (facts["clusters"], facts["memories"], facts["put"]) == (2, 8, 8)
    assert sorted(one["size"] for one in facts["examples"]) == sorted(Cluster.objects.values_list("size", flat=True))
    for cluster in Cluster.objects.all():
        held = Memory.objects.filter(cluster_id=cluster.id)
        vectors = [one.vector for one in MemoryVector.objects.filter(memory_id__in=held.values("id"))]
        assert held.count() == cluster.size
        middle = np.mean(vectors, axis=0)
        assert np.asarray(cluster.centroid) == pytest.approx(middle / np.linalg.norm(middle), abs=1e-5)
        assert len(cluster.label.split(", ")) == 3
    labels = " ".join(Cluster.objects.values_list("label", flat=True))
    assert "postgres" in labels
    assert "coffee" in labels


def test_without_new_memories_nothing_changes(namespace: Namespace) -> None:
    for text in TEXTS:
        store_memory(namespace, text)
    reflect(namespace, "clusters")
    before = state()
    facts = reflect(namespace, "clusters", full=True)
    assert state() == before
    assert "put" not in facts


def test_clusters_keep_their_ids_when_memories_come_and_go(namespace: Namespace) -> None:
    memories = [store_memory(namespace, text) for text in TEXTS]
    reflect(namespace, "clusters")
    home = {one.id: one.cluster_id for one in Memory.objects.all()}
    new = store_memory(namespace, "Postgres upgrades happen on Mondays")
    Memory.objects.filter(id=memories[0].id).update(status=Status.ARCHIVED)
    MemoryVector.objects.filter(memory_id=memories[0].id).update(active=False)
    reflect(namespace, "clusters")
    assert reload_memory(new).cluster_id == home[memories[3].id]
    assert all(reload_memory(one).cluster_id == home[one.id] for one in memories[1:])
    assert sum(Cluster.objects.values_list("size", flat=True)) == 8


def test_an_empty_namespace_has_no_clusters(namespace: Namespace) -> None:
    assert reflect(namespace, "clusters")["clusters"] == 0


def test_groups_are_found_where_they_are_and_the_same_every_time() -> None:
    draw = np.random.default_rng(1)
    middles = np.eye(8)[:4]
    vectors = np.repeat(middles, 50, axis=0) + draw.normal(0, 0.05, (200, 8))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    centroids, labels = cluster_vectors(vectors, 4, np.zeros((0, 8), np.float32))
    assert sorted(np.bincount(labels)) == [50, 50, 50, 50]
    assert all(len(set(labels[start : start + 50])) == 1 for start in range(0, 200, 50))
    again, same = cluster_vectors(vectors, 4, centroids)
    assert (same == labels).all()
    assert again == pytest.approx(centroids, abs=1e-6)


def test_an_entity_that_became_something_else_is_listed_and_nothing_changes(namespace: Namespace) -> None:
    lisa = add_entity(namespace, "Lighthouse")
    add_entity(namespace, "Grind")
    long_ago = NOW - timedelta(days=90)
    old = ("traces every request", "draws latency curves", "stores the spans of a request")
    new = ("serves cinnamon buns", "opens a second bakery", "hires two pastry cooks")
    for text in old:
        told = {"subject": "Lighthouse", "predicate": "traces", "happened_at": long_ago}
        store_memory(namespace, f"Lighthouse {text}", **told, session="a")
        store_memory(namespace, f"Grind {text}", subject="Grind", happened_at=long_ago, session="b")
    for text in new:
        store_memory(namespace, f"Lighthouse {text}", subject="Lighthouse", predicate="bakes", session="c")
    for text in old:
        store_memory(namespace, f"Today Grind still {text}", subject="Grind", session="d")
    before = ScoreEvent.objects.count()
    facts = reflect(namespace, "drift")
    (found,) = facts["examples"]
    assert (found["entity"], found["name"], found["before"], found["lately"]) == (str(lisa.id), "Lighthouse", 3, 3)
    assert found["distance"] > 0.4
    assert found["overlap"] == 0
    assert (facts["looked_at"], facts["drifted"]) == (2, 1)
    assert ScoreEvent.objects.count() == before


def test_two_memories_are_no_drift(namespace: Namespace) -> None:
    add_entity(namespace, "Lighthouse")
    for days, text in ((90, "traces requests"), (90, "draws curves"), (1, "serves buns"), (1, "hires cooks")):
        store_memory(namespace, f"Lighthouse {text}", subject="Lighthouse", happened_at=NOW - timedelta(days=days))
    assert reflect(namespace, "drift")["looked_at"] == 0


def test_doubted_memories_are_listed_and_archived_only_when_asked(namespace: Namespace) -> None:
    doubted, believed = store_memory(namespace, "Owns three horses"), store_memory(namespace, "Plays the cello")
    Memory.objects.filter(id=doubted.id).update(belief=1.5)
    facts = reflect(namespace, "archival")
    assert (facts["candidates"], facts["examples"]) == (1, [{"memory": str(doubted.id), "belief": 1.5}])
    assert reload_memory(doubted).status == Status.ACTIVE
    facts = reflect(namespace, "archival", archive=True)
    memory = reload_memory(doubted)
    assert (facts["candidates"], facts["archived"]) == (1, 1)
    assert (memory.status, memory.reason) == (Status.ARCHIVED, "belief 1.5 is below 2")
    assert not Posting.objects.filter(memory_id=memory.id).exists()
    assert not MemoryVector.objects.get(memory_id=memory.id).active
    event = ScoreEvent.objects.get(memory_id=memory.id, cause="archived")
    assert (event.before["status"], event.after["status"]) == ("active", "archived")
    assert reload_memory(believed).status == Status.ACTIVE
    assert reflect(namespace, "archival", archive=True)["candidates"] == 0
