"""Semantic: the cosine to every vector."""

import random
from datetime import datetime

import numpy as np
import pytest

from memories.db import pipeline
from memories.models import Memory, MemoryVector, Namespace
from memories.models.choices import Route
from memories.models.vector import index_name
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters, Query
from memories.retrieval.retrieve import retrieve
from memories.retrieval.retrievers import semantic
from memories.retrieval.why_not import why_not
from tests.support.retrieval_world import (
    ALL_LEVELS,
    EVERYTHING,
    NOW,
    assert_same_list,
    context_of,
    cosines,
    make_query,
    memory,
    run_retriever,
    searchable_memories,
    sort_scores,
)
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.mark.parametrize("text", ["Which database does invoicing use?", "coffee", "the of and"])
def test_the_semantic_score_is_the_cosine_to_every_vector(world: Namespace, text: str) -> None:
    query = make_query(world, text)
    reading = understand(query)
    near = cosines(world, reading)
    expected = sort_scores({one.id: near[one.id] for one in searchable_memories(world)}, near)
    assert_same_list(run_retriever(query, "semantic"), expected)
    assert_same_list(run_retriever(query, "semantic", pool=5), expected[:5])


@pytest.mark.parametrize("route", [*Route])
def test_each_vector_retriever_scores_the_cosine_to_its_own_vectors(world: Namespace, route: Route) -> None:
    chunk = Memory.objects.within(world).filter(level="turn").first()
    assert chunk is not None
    for facet, direction in ((Route.PERSONAL_INFO, 1), (Route.PREFERENCES, 2), (Route.EVENTS, 3)):
        vector = np.eye(1, 384, direction)[0].tolist()
        row(MemoryVector, world, memory=chunk, route=facet, embedder=world.embedder, vector=vector, level="turn")
    # The context of a memory is blend's; it knows statements alone, unless it is told otherwise.
    system, name = ("blend", "context") if route == Route.CONTEXT else ("memsense", route.value)
    query = make_query(world, EVERYTHING, system, filters=Filters(levels=ALL_LEVELS))
    near = cosines(world, understand(query), route)
    assert near
    assert_same_list(run_retriever(query, name), sort_scores({id: near[id] for id in near}, near))


def test_equally_near_memories_stand_by_their_ids(world: Namespace) -> None:
    MemoryVector.objects.within(world).update(vector=np.eye(1, 384)[0].tolist())
    listed = [id for id, _ in run_retriever(make_query(world, "coffee"), "semantic")]
    assert listed == sorted(one.id for one in searchable_memories(world))


# The index


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
def test_the_index_and_a_scan_of_the_rest_find_what_a_scan_finds(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, share: float, as_of: datetime | None
) -> None:
    query = make_query(world, EVERYTHING, as_of=as_of)
    plain, nearest = retrieve(query), run_retriever(query, "semantic")
    ids = list(MemoryVector.objects.within(world).order_by("id").values_list("id", flat=True))
    chosen = random.Random(1).sample(ids, int(share * len(ids)))
    index_vectors(world, chosen)
    assert_same_list(run_retriever(query, "semantic"), nearest, within=1e-3)
    assert_same_list(run_retriever(query, "semantic", pool=7), nearest[:7], within=1e-3)
    indexed = retrieve(query)
    assert [one["id"] for one in indexed.candidates.rows] == [one["id"] for one in plain.candidates.rows]
    assert indexed.ranking.score.value.tolist() == plain.ranking.score.value.tolist()


def test_the_index_is_scanned_past_the_vectors_of_others_and_those_filtered_out(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = make_query(world, "coffee", filters=Filters(tags=("routine",)))
    expected = run_retriever(query, "semantic")
    crowd_around(query)
    index_vectors(world)
    only_the_index()
    statement = semantic.sql(context_of(query, pool=1))
    [way] = pipeline.fetch_pipeline([pipeline.Statement(f"EXPLAIN {statement.sql}", statement.values)])
    assert index_name(world.id, world.embedder) in str(way)
    assert_same_list(run_retriever(query, "semantic", pool=1), expected, within=1e-3)


def test_a_rare_filter_finds_all_it_names_where_the_index_gives_up_early(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = make_query(world, "coffee", filters=Filters(tags=("database",)))
    expected = run_retriever(query, "semantic")
    assert len(expected) == 3
    crowd_around(query)
    index_vectors(world)
    only_the_index()
    pipeline.fetch_pipeline([pipeline.Statement("SET LOCAL hnsw.max_scan_tuples = 1")])
    assert_same_list(run_retriever(query, "semantic"), expected)
    assert_same_list(run_retriever(query, "semantic", pool=2), expected[:2])


@pytest.mark.parametrize("system", ["recall", "blend", "memsense"])
def test_no_list_is_too_long_for_the_index(world: Namespace, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    longest = {"limit_factor": 20, "route_widening": 10} if system == "memsense" else {"pool": 500}
    query = make_query(world, "coffee", system, params=longest, top_k=100)
    index_vectors(world)
    assert retrieve(query).fetched.timed_out == {}
    places = why_not(query, memory(world, "Maya drinks").id).retrievers
    assert places["vec_full" if system == "memsense" else "semantic"].rank == 1


def only_the_index() -> None:
    """Leave no other way to the nearest vectors than the index, until the test ends."""
    ways = ("seqscan", "bitmapscan", "sort")
    pipeline.fetch_pipeline([pipeline.Statement(f"SET LOCAL enable_{name} = off") for name in ways])


def crowd_around(query: Query) -> None:
    """Put memories of another namespace nearer to a query than any of its own."""
    crowd = Namespace.objects.create(slug="crowd", title="Crowd", clock=NOW)
    nearer = understand(query).vector + np.random.default_rng(1).normal(size=(150, 384)) / 60
    nearer /= np.linalg.norm(nearer, axis=1, keepdims=True)
    MemoryVector.objects.bulk_create(
        MemoryVector(
            memory=row(Memory, crowd),
            namespace=crowd,
            embedder=query.namespace.embedder,
            vector=one.tolist(),
            indexed=True,
        )
        for one in nearer
    )


def test_a_world_of_another_embedder_is_never_compared(world: Namespace) -> None:
    other = memory(world, "Maya drinks")
    row(MemoryVector, world, memory=other, embedder="wordllama-256", vector=np.eye(1, 256)[0].tolist())
    near = cosines(world, understand(query := make_query(world, "coffee")))
    assert dict(run_retriever(query, "semantic"))[other.id] == pytest.approx(near[other.id], abs=1e-6)
