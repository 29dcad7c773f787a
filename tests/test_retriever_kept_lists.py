"""Lists made of what is kept: as the database makes them, at the moment that is asked about."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from retrieval_world import NOW, asked, asking, world
from test_model_rows import row

from memories.contracts.new_memory import NewMemory
from memories.db.lru_cache import LRUCache
from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Entity, EntityEdge, Memory, Namespace, NamespaceStatistics
from memories.retrieval.candidate_sql import COSINES
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import ParsedQuery, understand
from memories.retrieval.query import Filters, Query
from memories.retrieval.ranked_list import RankedList
from memories.retrieval.retrieve import retrieve
from memories.retrieval.retrievers import list_cache
from memories.retrieval.retrievers.list_cache import CACHE_BYTES, ROUNDING, CachedList, ListKey, best_rows
from memories.retrieval.retrievers.retriever_context import PendingQuery, RetrieverQuery
from memories.tuning.traced_sets import write_count
from memories.writing.feedback import forget_memory
from memories.writing.link import delete_edge, relate_entities
from memories.writing.remember import remember
from memories.writing.write_errors import NotFoundError

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]
OF_AN_ANSWER = 0  # as long as the query's own parameters make the list
TEXTS = (
    ("entity", "What does Maya prefer?"),
    ("entity", "What does Lindqvist think of PostgreSQL?"),
    ("entity", "Maya, Priya, Jonas and Arrive"),
    ("entity", "What do Maya and Priya say of Invoicing?"),
    ("temporal", "What was said last month?"),
    ("temporal", "What happened in October 2025?"),
    ("temporal", "What was new recently?"),
    ("traversal", "What does Maya prefer?"),
    ("traversal", "What does Invoicing run on?"),
    ("traversal", "Maya, Priya, Jonas and Arrive"),
)


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> LRUCache[ListKey, CachedList]:
    empty = LRUCache[ListKey, CachedList](CACHE_BYTES)
    monkeypatch.setattr(list_cache, "LIST_CACHE", empty)
    monkeypatch.setattr(list_cache, "SEEN", {})
    return empty


def committed(query: Query) -> ParsedQuery:
    """A query as it is read outside of any transaction, where nobody can take back what was written."""
    return replace(understand(query), namespace_writes=write_count(query.namespace))


def question(
    query: Query, reading: ParsedQuery | None = None, route: str = "entity"
) -> RetrieverQuery | PendingQuery | None:
    """What is asked for the list of an answer."""
    return asked(query, route, pool=OF_AN_ANSWER, reading=reading or committed(query))


def listed(query: Query, route: str = "entity") -> RankedList:
    """The list of an answer, with its cosines."""
    return fetch({route: question(query, route=route)}).lists[route]


def by_database(query: Query, route: str = "entity") -> RankedList:
    """The same as the database makes it alone."""
    return fetch({route: asked(query, route, pool=OF_AN_ANSWER)}).lists[route]


def same(one: RankedList, other: RankedList) -> None:
    """Hold two lists against each other, to the last bit."""
    assert one.ids.tolist() == other.ids.tolist()
    assert one.scores.tolist() == other.scores.tolist()
    if one.cosines is not None and other.cosines is not None:
        assert one.cosines.tolist() == other.cosines.tolist()


def looked_up(query: Query, listed: RankedList) -> list[float]:
    """How near the memories of a list are, as the database tells it of any candidates."""
    reading = understand(query)
    values = {"namespace": query.namespace.id, "embedder": reading.embedder}
    [[[told]]] = fetch_pipeline([Statement(COSINES, {**values, "vector": reading.vector_param, "far": listed.ids})])
    return [float(one) for one in told]


@pytest.fixture
def full(world: Namespace) -> Namespace:
    """The world with many more memories about the same, some of which nobody has embedded yet."""
    subject = Entity.objects.within(world).get(name="Invoicing")
    for _ in range(3):
        row(Memory, world, subject=subject, happened_at=NOW - timedelta(days=20))
    told = [
        NewMemory(
            content=f"Maya and Priya saw build {number} of Invoicing",
            type="Fact",
            happened_at=NOW - timedelta(days=14 + number / 2),
        )
        for number in range(30)
    ]
    remember(world, told, by="tests")
    return world


@pytest.mark.parametrize(("route", "text"), TEXTS)
@pytest.mark.parametrize("mention", [0.6, 0.0, 1.0])
@pytest.mark.parametrize("pool", [10, 11, 40, 100])
def test_a_list_made_here_is_the_databases(full: Namespace, route: str, text: str, mention: float, pool: int) -> None:
    query = asking(full, text, system="blend", params={"pool": pool, "mention_weight": mention})
    expected = by_database(query, route)
    assert len(expected)
    for _ in ("asked", "asked again and read", "kept"):
        found = listed(query, route)
        same(found, expected)
    if route != "temporal" or len(expected) == pool < 40:  # a window that fills no list is left to the database
        assert isinstance(question(query, route=route), PendingQuery)
        assert found.cosines is not None
        assert found.cosines.tolist() == looked_up(query, found)


@pytest.mark.parametrize(("route", "text"), TEXTS)
def test_a_list_is_read_once_it_was_asked_for_twice(
    full: Namespace, kept: LRUCache[ListKey, CachedList], route: str, text: str
) -> None:
    query = asking(full, text, system="blend", params={"pool": 10})
    assert isinstance(question(query, route=route), RetrieverQuery)
    assert not kept.entries
    filled = text != "What happened in October 2025?"  # else what lies near it is asked for too
    assert isinstance(question(query, route=route), PendingQuery if filled else RetrieverQuery)
    assert {key.namespace for key in kept.entries} == {full.id}


def test_an_edge_drawn_or_taken_away_is_seen_at_once(world: Namespace) -> None:
    query = asking(world, "What about Lisbon?", system="blend")
    here, there = (Entity.objects.within(world).get(name=name) for name in ("Lisbon", "Priya Raman"))
    for _ in range(3):
        assert not len(listed(query, "traversal"))
    edge = relate_entities(world, here, "visited by", there, 0.9)
    for _ in range(3):
        same(listed(query, "traversal"), by_database(query, "traversal"))
        assert len(listed(query, "traversal"))
    delete_edge(world, edge.id, by="tests")
    for _ in range(3):
        assert not len(listed(query, "traversal"))
    before = write_count(world)
    with pytest.raises(NotFoundError):
        delete_edge(world, edge.id, by="tests")
    assert write_count(world) == before


def test_paths_are_not_kept_while_time_itself_may_add_to_them(
    world: Namespace, kept: LRUCache[ListKey, CachedList]
) -> None:
    Namespace.objects.filter(id=world.id).update(clock=None)
    world = Namespace.objects.get(id=world.id)
    EntityEdge.objects.within(world).filter(memory_id=None).update(created_at=timezone.now() + timedelta(days=1))
    query = asking(world, "What does Invoicing run on?", system="blend")
    for _ in range(3):
        assert isinstance(question(query, route="traversal"), RetrieverQuery)
    assert sorted(found.complete for _, found in kept.entries.values()) == [False, True]  # the paths, and the name


def test_whoever_writes_is_found_at_once(world: Namespace) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    for _ in range(3):
        before = listed(query)
    [new] = remember(world, [NewMemory(content="Maya prefers tea now", subject="Maya", type="Preference")], by="tests")
    for _ in range(3):
        assert set(listed(query)) == {*before, new.memory.id}
    forget_memory(world, new.memory.id, by="tests")
    for _ in range(3):
        assert set(listed(query)) == set(before)


def test_a_list_made_here_is_asked_for_again_where_somebody_wrote_since_the_query_was_read(world: Namespace) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    for _ in range(3):
        before = listed(query)
    late = question(query)
    assert isinstance(late, PendingQuery)
    remember(world, [NewMemory(content="Maya prefers tea now", subject="Maya", type="Preference")], by="tests")
    answer = fetch({"entity": late})
    assert not answer.timed_out
    assert len(answer.lists["entity"]) == len(before) + 1


def test_what_was_written_after_the_query_was_read_is_not_kept_under_it(
    world: Namespace, kept: LRUCache[ListKey, CachedList]
) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    reading = committed(query)
    question(query, reading)
    remember(world, [NewMemory(content="Maya prefers tea now", subject="Maya", type="Preference")], by="tests")
    assert isinstance(question(query, reading), RetrieverQuery)
    assert not kept.entries


def test_filters_and_longer_lists_are_left_to_the_database(
    world: Namespace, kept: LRUCache[ListKey, CachedList]
) -> None:
    filtered = asking(world, "What does Maya prefer?", filters=Filters(tags=("database",)))
    whole = asking(world, "What does Maya prefer?", system="blend")
    for _ in range(3):
        assert isinstance(question(filtered), RetrieverQuery)
        assert isinstance(asked(whole, "entity", pool=500, reading=committed(whole)), RetrieverQuery)
    assert not kept.entries


def test_where_a_name_finds_too_many_nobody_tries_again(
    world: Namespace, kept: LRUCache[ListKey, CachedList], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    monkeypatch.setattr(list_cache, "MAX_ROWS", 2)
    expected = by_database(query)
    for _ in range(3):
        same(listed(query), expected)
    assert {found.complete for _, found in kept.entries.values()} == {False}
    monkeypatch.setattr(list_cache, "read_lists", None)  # it would fail
    same(listed(query), expected)


def test_where_lists_are_late_the_database_makes_them_and_nobody_tries_again(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    tried = []
    monkeypatch.setattr(list_cache, "fetch_within_limit", lambda *some: tried.append(some))
    for _ in range(4):
        same(listed(query), by_database(query))
    assert len(tried) == 2  # the name, and the paths from it


def test_one_name_that_finds_too_many_keeps_no_other_from_being_kept(
    world: Namespace, kept: LRUCache[ListKey, CachedList], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [NewMemory(content=f"Priya saw build {number}", subject="Priya", type="Fact") for number in range(20)]
    remember(world, told, by="tests")
    monkeypatch.setattr(list_cache, "MAX_ROWS", 15)
    query = asking(world, "What do Maya and Priya prefer?", system="blend")
    for _ in range(3):
        same(listed(query), by_database(query))
    assert {found.complete for key, (_, found) in kept.entries.items() if isinstance(key.what, UUID)} == {False, True}
    assert isinstance(question(asking(world, "What does Maya prefer?", system="blend")), PendingQuery)


def test_what_is_outdated_is_let_go(world: Namespace, kept: LRUCache[ListKey, CachedList]) -> None:
    for text in ("What does Maya prefer?", "What does Priya review?"):
        for _ in range(2):
            question(asking(world, text, system="blend"))
    assert len({key.what for key in kept.entries if isinstance(key.what, UUID)}) == 2
    remember(world, [NewMemory(content="It rains")], by="tests")
    question(asking(world, "What does Maya prefer?", system="blend"))
    assert not kept.entries
    assert kept.size == 0


def test_a_namespace_that_was_made_anew_has_nothing_kept(world: Namespace, kept: LRUCache[ListKey, CachedList]) -> None:
    query = asking(world, "What does Maya prefer?", system="blend")
    for _ in range(2):
        question(query)
    assert kept.entries
    NamespaceStatistics.objects.filter(namespace=world).update(writes=0)
    question(query)
    assert not kept.entries


def test_names_that_go_for_each_other_must_be_asked_for_twice_again() -> None:
    store = LRUCache[str, CachedList](1_500)
    assert [store.seen_before("a", "1"), store.seen_before("a", "1")] == [False, True]
    store.put("a", "1", CachedList.of((), 4, whole=True))
    store.put("b", "1", CachedList.of((), 4, whole=True))
    assert list(store.entries) == ["b"]
    assert not store.seen_before("a", "1")


@pytest.mark.django_db(transaction=True)
def test_nothing_is_kept_of_what_may_be_taken_back(kept: LRUCache[ListKey, CachedList]) -> None:
    namespace = Namespace.objects.create(slug="taken-back", title="Taken back")
    Entity.objects.create(namespace=namespace, name="Maya", normalised="maya")
    remember(namespace, [NewMemory(content="Maya drinks tea", subject="Maya", type="Fact")], by="tests")
    query = asking(namespace, "What does Maya drink?", system="blend")
    with transaction.atomic():
        for _ in range(3):
            assert len(retrieve(query).fetched.lists["entity"]) == 1
    assert not kept.entries
    for _ in range(3):
        assert len(retrieve(query).fetched.lists["entity"]) == 1
    assert kept.entries


WORTH = st.lists(st.tuples(st.sampled_from([0.0, 0.6, 1.0]), st.floats(-1, 1, width=16)), max_size=30)


@given(WORTH, st.integers(1, 12), st.randoms(use_true_random=False))
def test_whoever_is_among_the_best_is_asked_about_whatever_is_rounded(
    worth: list[tuple[float, float]], pool: int, chance: np.random.Generator
) -> None:
    scores = np.array([score for score, _ in worth])
    near = np.array([cosine for _, cosine in worth])
    rounded = near + [chance.uniform(-1, 1) * ROUNDING / 2 for _ in worth]
    exact = [place for place in np.lexsort((-near, -scores)).tolist() if scores[place] > 0][:pool]
    assert set(exact) <= set(best_rows(scores, rounded, pool).tolist())
