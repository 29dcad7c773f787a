"""Words counted from kept postings: to the last bit as the database counts, at the moment that is asked about."""

import importlib
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_world import ALL_LEVELS, EVERYTHING, asked, asking, found, memory, world

from memories.contracts.new_memory import NewMemory
from memories.db.id_arrays import ID, Ids, to_uuids
from memories.db.lru_cache import LRUCache
from memories.models import Namespace, Posting
from memories.retrieval import postings
from memories.retrieval.fetch import fetch
from memories.retrieval.parse import understand
from memories.retrieval.postings import CACHE_BYTES, PostingKey, Postings, add_postings, sum_postings
from memories.retrieval.query import Filters, Query
from memories.retrieval.retrievers.retriever_context import PendingQuery
from memories.writing.feedback import forget_memory
from memories.writing.remember import remember

__all__ = ["world"]
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]
by_words = importlib.import_module("memories.retrieval.retrievers.bm25")
Words = LRUCache[PostingKey, Postings]
TEXTS = ("Which database does invoicing use?", "backup BACKUP backups", EVERYTHING, "Maya and Priya review it")


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Words:
    empty = Words(CACHE_BYTES)
    monkeypatch.setattr(postings, "POSTINGS_CACHE", empty)
    return empty


def by_database(query: Query, monkeypatch: pytest.MonkeyPatch, pool: int = 500) -> list[tuple[UUID, float]]:
    """The list as the database counts it alone."""
    with monkeypatch.context() as alone:
        alone.setattr(by_words, "load_postings", lambda *_: None)
        alone.setattr(by_words, "cached_for", lambda *_: None)
        return found(query, "bm25", pool=pool)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.75), (3.0, 1.0), (1.37, 0.01)])
@pytest.mark.parametrize(("finding", "pool"), [(0, 3), (4, 2), (4_000, 5), (4_000, 500)])
def test_kept_postings_count_as_the_database_does(
    world: Namespace, text: str, k1: float, b: float, finding: int, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_words, "FINDING_BUDGET", finding)
    monkeypatch.setattr(by_words, "MIN_LEADERS", 4)
    query = asking(world, text, params={"bm25_k1": k1, "bm25_b": b}, filters=Filters(levels=ALL_LEVELS))
    expected = by_database(query, monkeypatch, pool=pool)
    assert expected
    for _ in ("read", "common words read", "kept"):
        assert found(query, "bm25", pool=pool) == expected


OF_AN_ANSWER = 0  # as long as the query's own parameters make the list


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(("finding", "pool"), [(0, 10), (4, 11), (4_000, 12), (4_000, 30)])
def test_the_list_of_an_answer_is_made_here_and_is_the_databases(
    world: Namespace, text: str, finding: int, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_words, "FINDING_BUDGET", finding)
    remember(world, [NewMemory(content=f"Backup {number} of the database of Maya") for number in range(30)], by="tests")
    query = asking(world, text, system="blend", params={"pool": pool}, filters=Filters(levels=ALL_LEVELS))
    expected = by_database(query, monkeypatch, pool=OF_AN_ANSWER)
    for _ in ("read", "common words read", "made here"):
        given = found(query, "bm25", pool=OF_AN_ANSWER)
        # Equals within the list are told apart by whoever loads what is known of all candidates.
        assert dict(given) == dict(expected)
        assert [score for _, score in given] == [score for _, score in expected]
    assert isinstance(asked(query, "bm25", pool=OF_AN_ANSWER), PendingQuery)


def test_a_list_made_here_is_asked_for_again_where_somebody_wrote_since_the_query_was_read(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = asking(world, "coffee from a samovar", system="blend")
    for _ in range(3):
        before = found(query, "bm25", pool=OF_AN_ANSWER)
    reading = understand(query)
    late = asked(query, "bm25", pool=OF_AN_ANSWER, reading=reading)
    assert isinstance(late, PendingQuery)
    remember(world, [NewMemory(content="Jonas drinks coffee from a samovar")], by="tests")
    answer = fetch({"bm25": late})
    assert len(answer.lists["bm25"]) == len(before) + 1
    assert not answer.timed_out
    expected = by_database(query, monkeypatch, pool=OF_AN_ANSWER)
    assert set(answer.lists["bm25"]) == {id for id, _ in expected}


def test_postings_are_read_once(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    query = asking(world, EVERYTHING)
    first = found(query, "bm25")
    Posting.objects.within(world).update(frequency=5)  # as nobody writes them: their statistics tell of nothing
    assert found(query, "bm25") == first
    assert by_database(query, monkeypatch) != first


def test_whoever_writes_is_counted_at_once(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    query = asking(world, "Who drinks coffee from a samovar?")
    before = found(query, "bm25")
    remember(world, [NewMemory(content="Jonas drinks coffee from a samovar")], by="tests")
    after = found(query, "bm25")
    assert len(after) == len(before) + 1
    assert after == by_database(query, monkeypatch)
    forget_memory(world, memory(world, "Maya drinks").id, by="tests")
    assert [id for id, _ in found(query, "bm25")] == [memory(world, "Jonas drinks").id]
    assert found(query, "bm25") == by_database(query, monkeypatch)


def test_a_word_that_is_forgotten_finds_nobody_any_more(world: Namespace) -> None:
    query = asking(world, "hazelnuts")
    [(alma, _)] = found(query, "bm25")
    reading = understand(query)
    forget_memory(world, alma, by="tests")
    assert found(query, "bm25", reading=reading) == []


def test_namespaces_and_levels_keep_their_own(world: Namespace, kept: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Namespace.objects.create(slug="other", title="Other", embedder="wordllama-256")
    remember(other, [NewMemory(content="A database of other people")], by="tests")
    for levels in (ALL_LEVELS, ("turn",), ("fact",)):
        for namespace in (world, other):
            query = asking(namespace, "the database", filters=Filters(levels=levels))
            assert found(query, "bm25") == by_database(query, monkeypatch)
    assert {word.namespace for word in kept.entries} == {world.id, other.id}


def test_where_postings_are_late_the_database_counts(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    query = asking(world, EVERYTHING)
    expected = found(query, "bm25")
    monkeypatch.setattr(postings, "VERSIONS", "SELECT 'a', 1, (1 / 0)::text WHERE %(terms)s::text[] IS NOT NULL")
    assert found(query, "bm25") == expected


def test_a_common_word_is_read_once_it_was_asked_for_twice(
    world: Namespace, kept: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_words, "FINDING_BUDGET", 0)
    query = asking(world, "Maya and Priya review the database")
    terms = []
    for _ in range(3):
        assert found(query, "bm25") == by_database(query, monkeypatch)
        terms.append({word.term for word in kept.entries})
    assert terms == [
        {"review", "databas"},
        {"review", "databas", "maya", "priya"},
        {"review", "databas", "maya", "priya"},
    ]
    remember(world, [NewMemory(content="Priya sings")], by="tests")
    before = kept.get(PostingKey(world.id, ("fact", "summary"), "priya"))
    for changed in (False, True):
        assert found(query, "bm25") == by_database(query, monkeypatch)
        assert (kept.get(PostingKey(world.id, ("fact", "summary"), "priya")) != before) is changed


def test_no_other_word_goes_for_a_common_one(world: Namespace, kept: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_words, "FINDING_BUDGET", 0)
    query = asking(world, "Maya and Priya review the database")
    found(query, "bm25")
    monkeypatch.setattr(kept, "max_bytes", kept.size)
    for _ in range(3):
        assert found(query, "bm25") == by_database(query, monkeypatch)
    assert {word.term for word in kept.entries} == {"review", "databas"}


def test_filters_are_left_to_the_database(world: Namespace, kept: Words) -> None:
    assert found(asking(world, EVERYTHING, filters=Filters(tags=("database",))), "bm25")
    assert not kept.entries


def ids_of(*numbers: int) -> Ids:
    """Ids by their numbers."""
    return np.array([(number >> 64, number & (2**64 - 1)) for number in numbers], ID)


def posted(*numbers: int) -> Postings:
    """Postings of memories by their numbers, each of them once in ten words."""
    return Postings.of(ids_of(*numbers), np.ones(len(numbers), np.int32), np.full(len(numbers), 10, np.int32))


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    store, words = Words(3 * posted(1).size), [PostingKey(UUID(int=1), ("fact",), term) for term in "abcd"]
    for word in words[:3]:
        store.put(word, "1", posted(1))
    assert store.get(words[0])
    store.put(words[3], "1", posted(1))
    assert [word for word in words if store.get(word)] == [words[0], words[2], words[3]]
    store.put(words[3], "2", posted(1))
    assert store.size == 3 * posted(1).size


# Ids of which many share one half.
NUMBERS = st.builds(lambda head, tail: head << 64 | tail, *2 * [st.sampled_from([0, 1, 5, 2**63, 2**64 - 1])])


@given(st.lists(st.lists(NUMBERS, unique=True), min_size=1, max_size=4))
def test_each_memory_is_counted_once_whatever_its_id(lists: list[list[int]]) -> None:
    units = [float(2**place) for place in range(len(lists))]
    whole = sum_postings([posted(*numbers) for numbers in lists], units, lambda frequency, length: frequency)
    got = {id.int: told for id, told in zip(to_uuids(whole.ids), whole.units.tolist(), strict=True)}
    expected = {
        number: sum(unit for unit, numbers in zip(units, lists, strict=True) if number in numbers)
        for number in {number for numbers in lists for number in numbers}
    }
    assert got == expected
    first = sorted(expected, key=lambda number: (-expected[number], number))[:3]
    assert [id.int for id in to_uuids(whole.top(3).ids)] == first


@given(st.lists(NUMBERS, unique=True), st.lists(NUMBERS, unique_by=lambda number: number % 2**64, min_size=1))
def test_one_word_more_is_counted_where_it_stands(found: list[int], holding: list[int]) -> None:
    whole = sum_postings([posted(*found)], [1.0], lambda frequency, length: frequency)
    more = add_postings(whole, [posted(*holding)], [64.0], lambda frequency, length: frequency)
    assert more.units.tolist() == [65.0 if id.int in holding else 1.0 for id in to_uuids(whole.ids)]


def test_ids_that_share_their_second_half_are_told() -> None:
    assert posted(1, 2, 2**64 + 3).distinct
    assert not posted(1, 2, 2**64 + 1).distinct
