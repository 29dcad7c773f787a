"""BM25: exactly the formula, whether postings are packed or not; beyond a budget, by the rarest words."""

import importlib
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.db import connection

from memories.contracts.new_memory import NewMemory
from memories.models import Document, Memory, MemoryVector, Namespace, Posting
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from memories.retrieval.why_not import why_not
from memories.writing.remember import remember
from tests.support.retrieval_world import (
    ALL_LEVELS,
    EVERYTHING,
    NOW,
    bm25_scores,
    cosines,
    lexemes,
    make_query,
    new_memory,
    run_retriever,
    searchable_memories,
    sort_scores,
)
from tests.support.rows import row

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

# The package gives the retriever itself by this name.
by_words = importlib.import_module("memories.retrieval.retrievers.bm25")


@pytest.mark.parametrize("text", ["Which database does invoicing use?", "backup BACKUP backups", EVERYTHING, "schema"])
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.75), (3.0, 1.0), (1.2, 0.0)])
def test_bm25_is_exactly_the_formula(world: Namespace, text: str, k1: float, b: float) -> None:
    query = make_query(world, text, params={"bm25_k1": k1, "bm25_b": b}, filters=Filters(levels=ALL_LEVELS))
    scores = dict(run_retriever(query, "bm25"))
    assert scores == pytest.approx(bm25_scores(world, text, k1, b))
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_the_statistics_of_words_are_those_of_all_memories_whatever_the_filter(world: Namespace) -> None:
    whole = bm25_scores(world, EVERYTHING)
    narrow = dict(run_retriever(make_query(world, EVERYTHING, filters=Filters(tags=("database",))), "bm25"))
    assert narrow
    assert narrow == pytest.approx({id: whole[id] for id in narrow})


def test_beyond_the_budget_the_rarest_words_count_and_at_least_two(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Maya and Priya review the database"
    query = make_query(world, text, filters=Filters(levels=ALL_LEVELS))
    texts = {one.id: lexemes(one.content) for one in searchable_memories(world, ALL_LEVELS)}
    counts = {term: sum(term in words for words in texts.values()) for term in lexemes(text)}
    assert counts == {"review": 1, "databas": 1, "maya": 3, "priya": 4}
    for budget, read in ((0, 2), (2, 2), (4, 2), (5, 3), (8, 3), (9, 4)):
        monkeypatch.setattr(by_words, "READ_BUDGET", budget)
        rarest = " ".join(["review", "database", "Maya", "Priya"][:read])
        assert dict(run_retriever(query, "bm25")) == pytest.approx(bm25_scores(world, rarest)), budget


def test_one_word_finds_whatever_the_budget(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_words, "READ_BUDGET", 0)
    assert len(run_retriever(make_query(world, "Priya"), "bm25")) == 2


def crowd(both: str, count: int = 60) -> Namespace:
    """Many short memories with a word each, and a longer one with both."""
    namespace = Namespace.objects.create(slug="crowd", title="Crowd", clock=NOW, embedder="wordllama-256")
    said = [f"The {word} of {name}" for word in ("harbour", "lantern") for name in NAMES[:count]]
    remember(namespace, [NewMemory(content=one) for one in (*said, both)], by="tests")
    return namespace


ENDS = "axton bury cliff dale eden ford gate holm isle june".split()  # noqa: SIM905
NAMES = [f"{first}{last}" for first in ("Al", "Be", "Cor", "Dun", "El", "Fa") for last in ENDS]
BOTH = "A harbour with its lantern"


@pytest.mark.parametrize("route", ["bm25", "lexical"])
def test_a_memory_with_both_of_two_common_words_is_first(route: str) -> None:
    namespace = crowd(BOTH)
    query = make_query(namespace, "harbour lantern", "recall" if route == "bm25" else "memsense", params={})
    first, *rest = run_retriever(query, route, pool=10)
    assert Memory.objects.within(namespace).get(id=first[0]).content == BOTH
    assert len(rest) == 9


def test_whom_why_not_ranks_within_the_list_is_a_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = crowd(BOTH)
    monkeypatch.setattr(by_words, "READ_BUDGET", 20)
    query = make_query(namespace, "harbour lantern of Alaxton", params={"pool": 10})
    ids = {row["id"] for row in retrieve(query).candidates.rows}
    for one in Memory.objects.within(namespace).order_by("id")[::9]:
        place = why_not(query, one.id).retrievers["bm25"]
        assert (place.rank is not None and place.rank <= 10) <= (one.id in ids)


def test_the_other_lexical_mode_is_what_postgres_says(world: Namespace) -> None:
    Memory.objects.within(world).filter(content__startswith="Invoicing stores").update(predicate="database of invoices")
    text = "Which database does invoicing use?"
    wanted = " | ".join(sorted(lexemes(text)))
    given = dict(run_retriever(make_query(world, text, params={"lexical": "ts_rank_cd"}), "bm25"))
    expected = {}
    for one in searchable_memories(world):
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT ts_rank_cd(v, q, 32), v @@ q FROM (SELECT %s::tsquery) AS asked(q),
                LATERAL (SELECT setweight(to_tsvector('english', %s), 'A')
                    || setweight(to_tsvector('english', %s), 'B') AS v) one""",
                [wanted, one.content, one.predicate],
            )
            score, matches = cursor.fetchone()
            if matches:
                expected[one.id] = score
    assert len(expected) > 2
    assert given == pytest.approx(expected)


def test_the_other_lexical_mode_takes_any_word_as_a_word(world: Namespace) -> None:
    stored = row(Memory, world, content="o'clock\\path & ! | (x) :*", confidence=0.9)
    row(Document, world, memory=stored, number=999)
    row(Posting, world, memory=stored, number=999, term="o'clock\\", frequency=1)
    reading = understand(query := make_query(world, "x", params={"lexical": "ts_rank_cd"}))
    odd = replace(reading.terms, document_frequencies={"o'clock\\": 1}, spans=())
    assert [id for id, _ in run_retriever(query, "bm25", reading=replace(reading, terms=odd))] == [stored.id]


def told_alike(count: int) -> Namespace:
    """A namespace of memories that a word finds equally well, whose meanings differ, the last the nearest."""
    namespace = Namespace.objects.create(slug="alike", title="Alike", clock=NOW)
    names = ("Oslo", "Lima", "Bonn", "Graz", "Kyiv", "Riga", "Bern", "Nice", "Rome", "Cork", "Bath", "York", "Turin")
    for name in names[:count]:
        remember(namespace, [NewOne(f"The depot of {name} closes")], by="tests")
    query = make_query(namespace, "When does the depot close?")
    vector = understand(query).vector
    for place, one in enumerate(Memory.objects.within(namespace).order_by("id"), start=1):
        away = np.eye(1, 384)[0] - vector * vector[0]
        away /= np.linalg.norm(away)
        turned = math.sqrt(1 - (place / 20) ** 2) * away + place / 20 * vector
        MemoryVector.objects.within(namespace).filter(memory=one).update(vector=turned.tolist())
    return namespace


def NewOne(content: str, **more: Any) -> Any:  # noqa: N802
    """A memory with nothing but a text."""
    return new_memory(content, "Fact", "", more)


def test_equally_good_words_rank_by_cosine_and_then_by_id() -> None:
    namespace = told_alike(6)
    retrieval = retrieve(make_query(namespace, "When does the depot close?"))
    near = dict(zip(retrieval.signals.ids.tolist(), retrieval.signals.cosine, strict=True))
    ranks = dict(zip(retrieval.signals.ids.tolist(), retrieval.signals.ranks["bm25"], strict=True))
    assert sorted(ranks, key=lambda id: ranks[id]) == sorted(near, key=lambda id: -near[id])


def test_of_equally_good_words_the_nearest_are_in_the_pool() -> None:
    namespace = told_alike(13)
    query = make_query(namespace, "When does the depot close?")
    near = cosines(namespace, understand(query))
    listed = [id for id, _ in run_retriever(query, "bm25", pool=10)]
    assert set(listed) == {id for id, _ in sort_scores(dict.fromkeys(near, 1.0), near)[:10]}
