"""Entity graph: a subject counts whole, a mention less."""

from uuid import UUID

import numpy as np
import pytest
from django.db import connection

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Entity, Memory, Namespace, Turn
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from memories.retrieval.retrievers import RETRIEVERS
from memories.retrieval.retrievers.context import CERTAIN, RetrieverContext
from tests.support.retrieval_world import (
    ScoredIds,
    assert_same_list,
    context_of,
    cosines,
    entity_id,
    entity_scores,
    is_certain,
    make_query,
    memory,
    run_retriever,
    sort_scores,
)
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


@pytest.mark.parametrize("mention", [0.6, 0.0, 1.0])
@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("What does Maya prefer?", {"Maya Lindqvist": 1.0}),
        ("What does Lindqvist think of PostgreSQL?", {"Maya Lindqvist": 0.95, "PostgreSQL": 1.0}),
        ("Maya, Priya, Jonas and Arrive", dict.fromkeys(("Maya Lindqvist", "Priya Raman", "Jonas Ek", "Arrive"), 1.0)),
        ("Who is Zoltan?", {}),
    ],
)
def test_a_subject_counts_whole_and_a_mention_less(
    world: Namespace, text: str, matches: dict[str, float], mention: float
) -> None:
    query = make_query(world, text, params={"mention_weight": mention})
    worth = {entity_id(world, name): match for name, match in matches.items()}
    scores = {
        id: score for id, score in entity_scores(world, worth, mention).items() if is_certain(memory_by_id(world, id))
    }
    expected = sort_scores(scores, cosines(world, understand(query)))
    assert_same_list(run_retriever(query, "entity"), expected)
    assert_same_list(run_retriever(query, "entity", pool=2), expected[:2])


def test_a_cut_through_equally_good_ones_keeps_the_nearest_in_meaning(world: Namespace) -> None:
    subject = Entity.objects.within(world).get(name="Invoicing")
    unknown = [row(Memory, world, subject=subject).id for _ in range(3)]  # nobody has embedded them yet
    query = make_query(world, "What do Maya and Priya say of Invoicing?")
    worth = {entity_id(world, name): 1.0 for name in ("Maya Lindqvist", "Priya Raman", "Invoicing")}
    expected = sort_scores(entity_scores(world, worth), cosines(world, understand(query)))
    assert [id for id, score in expected if score == 1.0][-3:] == unknown
    for pool in range(1, len(expected) + 1):
        assert_same_list(run_retriever(query, "entity", pool=pool), expected[:pool])


def test_the_index_of_certain_memories_serves_a_query_for_them() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = ANY(%s)", [["memory_settled", "memory_begins"]]
        )
        conditions = {made.partition(" WHERE ")[2] for (made,) in cursor.fetchall()}
        assert len(conditions) == 1
        cursor.execute("CREATE TEMP TABLE each_one (LIKE memories_memory)")
        cursor.execute(f"CREATE INDEX settled ON each_one (id) WHERE {conditions.pop()}")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN SELECT FROM each_one m WHERE {CERTAIN}")
        assert "settled" in cursor.fetchall()[0][0]


def test_a_memory_is_looked_up_by_its_id(world: Namespace) -> None:
    for _ in range(100):
        row(Memory, world)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_memory")  # or the plan depends on what other tests left behind
    statement = RETRIEVERS["entity"](context_of(make_query(world, "What does Maya prefer?")))
    assert statement is not None
    [rows] = fetch_pipeline([Statement(f"EXPLAIN {statement.sql}", statement.values)])
    plan = "\n".join(line for (line,) in rows)
    assert "memory_settled" in plan
    assert "memory_begins" not in plan


def memory_by_id(namespace: Namespace, id: UUID) -> Memory:
    """A memory by its id."""
    return Memory.objects.within(namespace).get(id=id)


SEVERAL = "What do Maya and Priya say of Invoicing?"
FILTERS = [Filters(), Filters(types=("Fact", "Preference"))]


@pytest.mark.parametrize("filters", FILTERS)
def test_of_an_entity_with_many_memories_the_latest_are_compared(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, filters: Filters
) -> None:
    query = make_query(world, SEVERAL, filters=filters)
    every = run_retriever(query, "entity")
    assert len(every) > 4
    index_vectors(world)
    monkeypatch.setattr(RetrieverContext, "max_compared", 3)
    assert run_retriever(query, "entity", pool=2) == [pair for pair in every if pair in latest_of(every, 3)][:2]


@pytest.mark.parametrize("filters", FILTERS)
def test_an_entitys_memories_that_other_retrievers_find_are_in_its_list(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, filters: Filters
) -> None:
    query = make_query(world, SEVERAL, filters=filters)
    every = run_retriever(query, "entity")
    index_vectors(world)
    monkeypatch.setattr("memories.retrieval.retrieve.list_depth", lambda params, top_k: 3)
    monkeypatch.setattr(RetrieverContext, "max_compared", 3)
    retrieval = retrieve(query)
    others = set[UUID]().union(*(ids for name, ids in retrieval.fetched.lists.items() if name != "entity"))
    expected = [pair for pair in every if pair in latest_of(every, 3) or pair[0] in others][:3]
    assert set(expected) != set(latest_of(every, 3))
    found = retrieval.signals.ranks["entity"]
    assert [retrieval.candidates.ids[row] for row in np.argsort(found)[:3]] == [id for id, _ in expected]
    assert np.isfinite(found).sum() == 3


def test_what_an_entity_said_is_in_its_list_if_another_retriever_finds_it(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = memory(world, "Running shoes")
    Memory.objects.within(world).filter(id=said.id).update(turn_id=row(Turn, world, speaker="Maya Lindqvist").id)
    query = make_query(world, "How long do running shoes last, as Maya says?")
    assert (said.id, 1.0) in run_retriever(query, "entity")
    index_vectors(world)
    monkeypatch.setattr("memories.retrieval.retrieve.list_depth", lambda params, top_k: 3)
    monkeypatch.setattr(RetrieverContext, "max_compared", 3)
    row(Memory, world, turn=row(Turn, world, speaker="Maya Lindqvist"))
    retrieval = retrieve(query)
    assert said.id in retrieval.fetched.lists["semantic"]
    assert np.isfinite(retrieval.signals.ranks["entity"][retrieval.candidates.ids.index(said.id)])


def latest_of(scored: ScoredIds, count: int) -> ScoredIds:
    """The latest of those that score best."""
    return sorted(scored, key=lambda pair: (pair[1], pair[0].int), reverse=True)[:count]


@pytest.mark.parametrize("index", ["memory_latest_of_subject", "mention_entity", "turn_latest_of_speaker"])
def test_the_latest_memories_of_an_entity_are_read_in_order(world: Namespace, index: str) -> None:
    index_vectors(world)
    statement = RETRIEVERS["entity"](context_of(make_query(world, "What does Maya prefer?")))
    assert isinstance(statement, Statement)
    ways = ("seqscan", "bitmapscan", "sort")
    settings = [Statement(f"SET LOCAL enable_{way} = off") for way in ways]
    *_, rows = fetch_pipeline([*settings, Statement(f"EXPLAIN {statement.sql}", statement.values)])
    assert f"Index Scan Backward using {index}" in "\n".join(line for (line,) in rows).replace("Only ", "")
