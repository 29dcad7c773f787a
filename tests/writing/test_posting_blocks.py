"""Postings in blocks: every answer and every statistic is as if they stood in rows."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.maintenance.erase import Erasure
from memories.models import Document, Memory, Namespace, NamespaceStatistics, Posting, PostingBlock, TermStatistic
from memories.models.choices import JobKind
from memories.models.text import POSTING
from memories.pages.memory_list.filters import search_words
from memories.retrieval.query import Filters
from memories.writing import posting_blocks, rebuild
from memories.writing.correct import correct_memory
from memories.writing.remember import remember
from memories.writing.search_index import hide_memories, show_memories
from tests.support.posting_blocks import pack_all
from tests.support.retrieval_world import (
    ALL_LEVELS,
    EVERYTHING,
    NOW,
    bm25_scores,
    make_query,
    memory,
    run_retriever,
    store_world,
)
from tests.support.vector_indexes import index_vectors

pytestmark = pytest.mark.django_db
QUERIES = [EVERYTHING, "Which database does invoicing use?", "Priya", "schema"]


@pytest.fixture
def world() -> Namespace:
    """The world of the retrievers' tests."""
    return store_world("packed")


def lists(namespace: Namespace, **more: Any) -> list[Any]:
    """What BM25, the other lexical mode and memsense's lexical retriever find for every query."""
    filters = more.pop("filters", Filters(levels=ALL_LEVELS))
    found = []
    for text in QUERIES:
        query = make_query(namespace, text, filters=filters, **more)
        ranked = make_query(namespace, text, params={"lexical": "ts_rank_cd"}, filters=filters, **more)
        tagged = make_query(namespace, text, "memsense", filters=filters, **more)
        found += [run_retriever(query, "bm25"), run_retriever(ranked, "bm25"), run_retriever(tagged, "lexical")]
    assert any(found)
    return found


def assert_exact(namespace: Namespace) -> None:
    """The statistics of the namespace are what its postings add up to."""
    stored = NamespaceStatistics.objects.within(namespace).values_list("documents", "total_length").get()
    documents = TermStatistic.objects.within(namespace).filter(documents__gt=0)
    counts: dict[str, int] = {}
    total = 0
    for term, frequency in Posting.objects.within(namespace).values_list("term", "frequency"):
        counts[term], total = counts.get(term, 0) + 1, total + frequency
    for block in PostingBlock.objects.within(namespace):
        postings = np.frombuffer(block.packed, POSTING)
        if len(postings):
            counts[block.term] = counts.get(block.term, 0) + len(postings)
            total += int(postings["frequency"].sum())
            assert block.first <= postings["number"].min()
            assert postings["number"].max() <= block.last
            assert (np.diff(postings["number"]) > 0).all()
    return (
        stored,
        (Document.objects.within(namespace).count(), total),
        dict(documents.values_list("term", "documents")),
        counts,
    )


@pytest.mark.parametrize("filters", [Filters(levels=ALL_LEVELS), Filters(tags=("database",)), Filters(users=("maya",))])
@pytest.mark.parametrize("as_of", [None, NOW], ids=["today", "as of now"])
def test_packing_changes_no_list(world: Namespace, filters: Filters, as_of: Any) -> None:
    before = lists(world, filters=filters, as_of=as_of)
    pack_all(world)
    assert lists(world, filters=filters, as_of=as_of) == before
    assert_exact(world)


def test_what_is_written_after_packing_is_found_beside_what_is_packed(world: Namespace) -> None:
    pack_all(world)
    remember(world, [NewMemory(content="Priya keeps the schema of the backup database in a drawer")], by="tests")
    assert Posting.objects.within(world).exists()
    for text in QUERIES:
        query = make_query(world, text, filters=Filters(levels=ALL_LEVELS))
        assert dict(run_retriever(query, "bm25")) == pytest.approx(bm25_scores(world, text))
    assert_exact(world)


def test_packing_again_extends_the_last_block_until_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting_blocks, "MAX_POSTINGS", 3)
    namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
    sizes = []
    for written in (["red", "blue"], ["green"], ["white", "black", "grey", "pink", "brown"]):
        remember(namespace, [NewMemory(content=f"A {colour} harbour") for colour in written], by="tests")
        pack_all(namespace)
        blocks = PostingBlock.objects.within(namespace).filter(term="harbour").order_by("first")
        sizes.append([len(block.packed) // POSTING.itemsize for block in blocks])
        assert_exact(namespace)
    assert sizes == [[2], [3], [3, 3, 2]]
    assert len(run_retriever(make_query(namespace, "harbour"), "bm25")) == 8


def test_a_hidden_memory_leaves_its_blocks_and_comes_back_under_another_number(world: Namespace) -> None:
    pack_all(world)
    stored = memory(world, "Invoicing stores")
    before, number = lists(world), Document.objects.within(world).get(memory_id=stored.id).number
    removed = hide_memories(world, [stored.id])
    assert removed > 0
    assert_exact(world)
    assert stored.id not in dict(run_retriever(make_query(world, "invoicing data"), "bm25"))
    show_memories(world, [stored.id])
    assert Document.objects.within(world).get(memory_id=stored.id).number > number
    assert_exact(world)
    assert lists(world) == before
    pack_all(world)
    assert_exact(world)
    assert lists(world) == before


def test_what_was_superseded_since_is_found_in_the_past(world: Namespace) -> None:
    pack_all(world)
    stored = memory(world, "Invoicing stores")
    then = lists(world)
    world.clock = NOW + timedelta(days=10)
    correct_memory(world, stored.id, {"content": "Invoicing keeps its ledgers in a vault"}, by="tests")
    assert stored.id not in {id for ranked in lists(world) for id, _ in ranked}
    past = [{id for id, _ in ranked} for ranked in lists(world, as_of=NOW)]
    assert past == [{id for id, _ in ranked} for ranked in then]


def test_an_erased_memory_leaves_nothing_in_the_blocks(world: Namespace) -> None:
    pack_all(world)
    stored = memory(world, "Invoicing stores")
    number = Document.objects.within(world).get(memory_id=stored.id).number
    erasure = Erasure(world)
    erasure.erase([stored.id])
    assert erasure.erased["postings"] > 0
    assert_exact(world)
    for block in PostingBlock.objects.within(world):
        assert number not in np.frombuffer(block.packed, POSTING)["number"]


def test_memories_are_searched_by_packed_words_too(world: Namespace) -> None:
    for text in ("database", "schema review", "Priya Maya", "the", "zeppelin database"):
        condition, missing = search_words(world, text)
        found = set(Memory.objects.within(world).filter(condition).values_list("id", flat=True))
        pack_all(world)
        condition, still_missing = search_words(world, text)
        assert still_missing == missing
        assert set(Memory.objects.within(world).filter(condition).values_list("id", flat=True)) == found


def test_the_worker_packs_the_frequent_terms_of_a_large_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "SCAN_BELOW", 5)
    monkeypatch.setattr(rebuild, "MIN_UNINDEXED", 3)
    monkeypatch.setattr(posting_blocks, "MIN_PACKED", 4)
    namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
    remember(namespace, [NewMemory(content=f"Harbour of {name}") for name in "ABCDEFG"], by="tests")
    assert rebuild.namespaces_to_index() == [namespace]
    run_job(namespace.id, submit_job(namespace, JobKind.INDEX, {}, by="tests").id)
    assert set(PostingBlock.objects.values_list("term", flat=True)) == {"harbour"}
    assert not Posting.objects.filter(term="harbour").exists()
    assert Posting.objects.exists()
    assert rebuild.namespaces_to_index() == []
    assert_exact(namespace)


def test_the_worker_packs_a_namespace_that_was_large_before_there_were_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "SCAN_BELOW", 5)
    monkeypatch.setattr(posting_blocks, "MIN_PACKED", 4)
    namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
    remember(namespace, [NewMemory(content=f"Harbour of {name}") for name in "ABCDEFG"], by="tests")
    index_vectors(namespace)
    assert rebuild.namespaces_to_index() == [namespace]
    pack_all(namespace)
    assert rebuild.namespaces_to_index() == []


WORDS = ("harbour", "lantern", "ledger", "cello")


@given(st.lists(st.tuples(st.sampled_from(("write", "hide", "show", "pack")), st.integers(0, 9)), max_size=12))
def test_postings_and_statistics_agree_whatever_happens_in_which_order(steps: list[tuple[str, int]]) -> None:
    namespace = Namespace.objects.create(slug="harbour", title="Harbour", embedder="wordllama-256")
    try:
        NamespaceStatistics.objects.create(namespace=namespace)
        shown, hidden = list[Any](), list[Any]()
        for number, (step, choice) in enumerate(steps):
            if step == "write":
                text = f"{WORDS[choice % 4]} {WORDS[choice % 3]} number {number} of {10 * choice + number}"
                outcomes = remember(namespace, [NewMemory(content=text)], by="tests")
                shown += [outcome.memory.id for outcome in outcomes if outcome.outcome == "stored"]
            elif step == "hide" and shown:
                hidden.append(shown.pop(choice % len(shown)))
                hide_memories(namespace, hidden[-1:])
            elif step == "show" and hidden:
                shown.append(hidden.pop(choice % len(hidden)))
                show_memories(namespace, shown[-1:])
            elif step == "pack":
                pack_all(namespace)
            assert_exact(namespace)
        query = make_query(namespace, " ".join(WORDS), params={})
        assert {id for id, _ in run_retriever(query, "bm25")} == set(shown)
    finally:
        namespace.delete()
