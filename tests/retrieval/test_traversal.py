"""Graph traversal: the best of all paths, up to three hops."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from memories.models import Entity, EntityEdge, Memory, Mention, Namespace
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.text.entity_mentions import EntityMatch
from scoring.graph import traverse
from tests.support.retrieval_world import (
    NOW,
    assert_same_list,
    cosines,
    entity_id,
    entity_scores,
    make_query,
    memory,
    run_retriever,
    sort_scores,
)
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def best_paths(edges: Sequence[tuple[UUID, UUID, float]], roots: set[UUID], hops: Sequence[float]) -> dict[UUID, float]:
    """Every way of up to so many edges, tried one by one."""
    best: dict[UUID, float] = {}

    def onward(here: UUID, weakest: float, taken: int) -> None:
        for one, other, confidence in edges:
            for start, end in {(one, other), (other, one)}:
                if start == here and taken < len(hops):
                    least = min(weakest, confidence)
                    if end not in roots:
                        best[end] = max(best.get(end, 0.0), hops[taken] * least)
                    onward(end, least, taken + 1)

    for root in roots:
        onward(root, 1.0, 0)
    return best


def graph(seed: int) -> tuple[Namespace, list[Entity], list[tuple[UUID, UUID, float]]]:
    """A random graph, with a memory about each entity and some that mention another."""
    chance = random.Random(seed)
    namespace = Namespace.objects.create(slug=f"graph-{seed}", title="Graph", clock=NOW)
    entities = [row(Entity, namespace, name=f"Node{number}", kind="system") for number in range(8)]
    edges = []
    for number in range(chance.randint(4, 12)):
        one, other = chance.choices(entities, k=2)
        confidence = round(chance.random(), 2)
        row(EntityEdge, namespace, source=one, target=other, predicate=f"p{number}", confidence=confidence)
        edges.append((one.id, other.id, confidence))
    EntityEdge.objects.within(namespace).update(created_at=NOW)
    for one in entities:
        stored = row(Memory, namespace, subject=one)
        if chance.random() < 0.5:
            row(Mention, namespace, memory=stored, entity=chance.choice(entities))
    row(Memory, namespace)
    return namespace, entities, edges


@pytest.mark.parametrize("seed", range(12))
def test_traversal_is_the_best_of_all_paths_over_all_edges(seed: int) -> None:
    namespace, entities, edges = graph(seed)
    chance = random.Random(-seed)
    roots = {one.id for one in chance.sample(entities, chance.randint(1, 3))}
    hops = chance.choice([(1.0, 0.6, 0.35), (0.2, 0.9, 1.0), (1.0, 0.6), (1.0,)])
    given = {f"hop_{number}": worth for number, worth in enumerate(hops, start=1)}
    query = make_query(namespace, "Node", params={**given, "max_hops": len(hops)})
    named = [EntityMatch(one.id, one.name, 0.7) for one in entities if one.id in roots]
    numbers = {one.id: number for number, one in enumerate(entities)}
    counted = [(numbers[one], numbers[other], confidence) for one, other, confidence in edges]
    reached = best_paths(edges, roots, hops)
    by_formula = traverse(counted, [numbers[one] for one in roots], hops)
    assert {numbers[id]: score for id, score in reached.items()} == pytest.approx(
        {number: one.score for number, one in by_formula.items()}
    )
    listed = run_retriever(query, "traversal", reading=replace(understand(query), entities=named))
    assert dict(listed) == pytest.approx(entity_scores(namespace, reached))
    assert_same_list(listed, sort_scores(dict(listed), {}))


def random_graph(seed: int) -> tuple[Namespace, list[Entity]]:
    """A random graph with strong and weak edges; memories mention several of its entities, and few are about one."""
    chance = random.Random(seed)
    namespace = Namespace.objects.create(slug=f"crowded-{seed}", title="Crowded", clock=NOW)
    entities = [row(Entity, namespace, name=f"Node{number}", kind="system") for number in range(14)]
    for number in range(30):
        one, other = chance.sample(entities, 2)
        sure = chance.choice([1.0, 0.9, 0.5, 0.1])
        row(EntityEdge, namespace, source=one, target=other, predicate=f"p{number}", confidence=sure, created_at=NOW)
    for _ in range(60):
        about = chance.choice([None, None, *entities])
        status = chance.choice(["active", "active", "archived"])
        stored = row(Memory, namespace, subject=about, status=status)
        for mentioned in chance.sample(entities, chance.randint(0, 4)):
            row(Mention, namespace, memory=stored, entity=mentioned)
    return namespace, entities


@pytest.mark.parametrize("seed", range(8))
def test_a_short_list_is_the_beginning_of_the_whole(seed: int) -> None:
    """However far the paths had to be followed, and however often a memory was reached."""
    namespace, entities = random_graph(seed)
    chance = random.Random(-seed)
    worths = [(1.0, 0.6, 0.35), (0.2, 0.9, 1.0), (1.0, 0.1, 0.9), (1.0, 0.6, 0.0)][seed % 4]
    given = {f"hop_{number}": worth for number, worth in enumerate(worths, start=1)}
    mention = chance.choice([0.6, 1.0, 0.0])
    query = make_query(namespace, "Node", params={**given, "mention_weight": mention})
    reading = replace(understand(query), entities=[EntityMatch(chance.choice(entities).id, "Node", 1.0)])
    whole = run_retriever(query, "traversal", reading=reading)
    reached = best_paths(edges_of(namespace), {one.entity_id for one in reading.entities}, worths)
    assert dict(whole) == pytest.approx(entity_scores(namespace, reached, mention))
    for more in ({}, {"as_of": NOW}, {"filters": Filters(types=("Fact",))}, {"params": {**given, "max_hops": 2}}):
        asking_so = replace(query, **more) if "params" not in more else make_query(namespace, "Node", **more)
        whole = run_retriever(asking_so, "traversal", reading=reading)
        for pool in (1, 2, 3, 5, 8, 13, 21):
            assert_same_list(run_retriever(asking_so, "traversal", reading=reading, pool=pool), whole[:pool])


def test_who_is_reached_over_many_ways_leaves_room_for_others() -> None:
    namespace = Namespace.objects.create(slug="star", title="Star", clock=NOW)
    middle, *around = [row(Entity, namespace, name=f"Node{number}", kind="system") for number in range(15)]
    often, seldom = (row(Memory, namespace) for _ in range(2))
    for number, one in enumerate(around):
        sure = 1 - number / 20
        row(EntityEdge, namespace, source=middle, target=one, predicate="p", confidence=sure, created_at=NOW)
        row(Mention, namespace, memory=often, entity=one)
    row(Mention, namespace, memory=seldom, entity=around[-1])
    query = make_query(namespace, "Node")
    reading = replace(understand(query), entities=[EntityMatch(middle.id, "Node", 1.0)])
    assert [id for id, _ in run_retriever(query, "traversal", reading=reading, pool=2)] == [often.id, seldom.id]


def test_traversal_goes_both_ways_and_leaves_the_entity_itself_to_the_entity_retriever(world: Namespace) -> None:
    query = make_query(world, "What does Invoicing run on?")
    worth = {"Arrive": 0.8, "PostgreSQL": 0.6, "Maya Lindqvist": 0.6 * 0.8, "Priya Raman": 0.35 * 0.7}
    expected = entity_scores(world, {entity_id(world, name): score for name, score in worth.items()})
    listed = sort_scores(expected, cosines(world, understand(query)))
    assert_same_list(run_retriever(query, "traversal"), listed)
    for pool in range(1, len(listed)):
        assert_same_list(run_retriever(query, "traversal", pool=pool), listed[:pool])
    assert memory(world, "The nightly backup").id not in expected


def test_an_edge_counts_as_long_as_the_memory_it_was_read_from(world: Namespace) -> None:
    query = make_query(world, "What about Lisbon?")
    assert run_retriever(query, "traversal") == []
    told_by = memory(world, "The offsite in Lisbon")
    here, there = entity_id(world, "Lisbon"), entity_id(world, "Priya Raman")
    row(EntityEdge, world, source_id=here, target_id=there, memory=told_by, confidence=0.5, created_at=NOW)
    expected = entity_scores(world, best_paths([(here, there, 0.5), *edges_of(world)], {here}, (1, 0.6, 0.35)))
    assert dict(run_retriever(query, "traversal")) == pytest.approx(expected)
    for status in ("archived", "rejected", "forgotten"):
        Memory.objects.within(world).filter(id=told_by.id).update(status=status)
        assert run_retriever(query, "traversal") == []


def edges_of(namespace: Namespace) -> list[tuple[UUID, UUID, float]]:
    """The edges between entities."""
    edges = EntityEdge.objects.within(namespace).filter(memory_id=None)
    return list(edges.values_list("source_id", "target_id", "confidence"))


def test_an_edge_that_is_not_drawn_yet_leads_nowhere(world: Namespace) -> None:
    EntityEdge.objects.within(world).update(created_at=NOW + timedelta(seconds=1))
    assert run_retriever(make_query(world, "What does Maya prefer?"), "traversal") == []
