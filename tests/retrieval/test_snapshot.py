"""A retrieval reads one snapshot from first statement to last, and leaves the connection as it was."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import DataError, connection, transaction
from psycopg.pq import TransactionStatus

from memories.contracts.new_memory import NewMemory
from memories.db.pipeline import Statement, fetch_pipeline, snapshot
from memories.models import Memory, Namespace
from memories.retrieval import retrieve as retrieving
from memories.retrieval.as_of import Past
from memories.retrieval.retrieve import retrieve
from memories.writing.remember import remember
from scoring.systems import SYSTEMS
from tests.support.retrieval_world import make_query, memory, run_retriever, store_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("retrieval")]
QUERY = "What does Maya drink?"


@pytest.fixture
def world() -> Namespace:
    return store_world("asked")


def elsewhere(statement: str, *values: Any) -> None:
    """Change something as another process would."""
    given = connection.get_connection_params()
    given = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    with psycopg.connect(**given) as other:
        other.execute(statement, values)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_is_written_while_a_retrieval_is_under_way_is_not_seen_by_it(
    world: Namespace, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, tea = retrieving.fetch, memory(world, "Maya drinks").id

    def ask_and_be_overtaken(*given: Any) -> Any:
        answers = asked(*given)
        elsewhere("UPDATE memories_memory SET confidence = .123, access_count = 99 WHERE id = %s", tea)
        return answers

    query = make_query(world, QUERY, system, user="maya", session="s")
    before = retrieve(query)
    monkeypatch.setattr(retrieving, "fetch", ask_and_be_overtaken)
    overtaken = retrieve(query)
    assert overtaken.ranking.score.value.tolist() == before.ranking.score.value.tolist()
    assert Memory.objects.get(pk=(world.id, tea)).confidence == 0.123


def test_a_connection_is_left_as_it_was(world: Namespace) -> None:
    retrieve(make_query(world, QUERY))
    raw = connection.connection
    assert (raw.isolation_level, raw.read_only) == (None, None)
    assert raw.info.transaction_status == TransactionStatus.IDLE
    assert fetch_pipeline([Statement("SHOW transaction_isolation"), Statement("SHOW transaction_read_only")]) == [
        [("read committed",)],
        [("off",)],
    ]


def test_a_snapshot_that_fails_leaves_the_connection_as_it_was(world: Namespace) -> None:
    with pytest.raises(DataError), snapshot():
        fetch_pipeline([Statement("SELECT 1 / 0")])
    assert Memory.objects.within(world).update(quality=0.5)


def test_a_snapshot_is_read_only_and_sees_nothing_written_since(world: Namespace) -> None:
    names = ("transaction_isolation", "transaction_read_only")
    with snapshot():
        settings = fetch_pipeline([Statement(f"SELECT current_setting('{name}')") for name in names])
        elsewhere("UPDATE memories_memory SET quality = .123 WHERE namespace_id = %s", world.id)
        assert not Memory.objects.within(world).filter(quality=0.123).exists()
    assert [rows[0][0] for rows in settings] == ["repeatable read", "on"]
    assert Memory.objects.within(world).filter(quality=0.123).exists()


def test_within_a_transaction_its_own_snapshot_is_used(world: Namespace) -> None:
    with transaction.atomic(), snapshot():
        Memory.objects.within(world).update(quality=0.5)


def in_another_process(work: Callable[[], object]) -> None:
    """Do something by another connection, as another worker would."""

    def alone() -> None:
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(alone).result()


def test_term_statistics_are_those_of_the_snapshot(world: Namespace) -> None:
    query = make_query(world, "Who drinks coffee?")
    before = retrieve(query).fetched.lists["bm25"]

    def write_and_ask() -> None:
        remember(world, [NewMemory(content="Jonas drinks coffee too")], by="tests")
        later = retrieve(query).fetched.lists["bm25"]
        assert len(later) == len(before) + 1

    with snapshot():
        fetch_pipeline([Statement("SELECT 1")])
        in_another_process(write_and_ask)
        assert dict(run_retriever(query, "bm25")).keys() == before.keys()
    assert len(retrieve(query).fetched.lists["bm25"]) == len(before) + 1


def test_the_past_is_read_in_the_snapshot_of_its_answer(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    tea, past = memory(world, "Maya drinks").id, Past.load

    def read_and_be_overtaken(*given: Any) -> Past:
        told = past(*given)
        elsewhere("UPDATE memories_memory SET status = 'archived' WHERE id = %s", tea)
        return told

    monkeypatch.setattr(Past, "load", read_and_be_overtaken)
    found = retrieve(make_query(world, QUERY, as_of=world.now)).candidates.rows
    assert tea in {row["id"] for row in found}
