"""The HNSW index of a large namespace: built by a worker, of its own, and dropped when nothing uses it."""

from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from memories.contracts.new_memory import NewMemory
from memories.jobs import scheduled
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.models import Job, MemoryVector, Namespace, NamespaceStatistics
from memories.models.choices import JobKind, JobState
from memories.models.vector import index_name
from memories.retrieval.parse import understand
from memories.retrieval.retrieve import retriever_context
from memories.writing import rebuild
from memories.writing.remember import remember
from memories.writing.vector_index import IS_VALID, build_index, create_statement
from tests.support.access import member_of
from tests.support.retrieval_world import make_query

pytestmark = pytest.mark.django_db(transaction=True)
FACTS = ("Maya sails", "Otto plays chess", "Ines bakes bread", "Jonas grows ferns", "Alma paints ships")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A namespace that has outgrown scanning."""
    monkeypatch.setattr(rebuild, "SCAN_BELOW", len(FACTS))
    monkeypatch.setattr(rebuild, "MIN_UNINDEXED", 0)
    return store("large")


def store(slug: str) -> Namespace:
    namespace = Namespace.objects.create(slug=slug, title=slug)
    remember(namespace, [NewMemory(content=fact) for fact in FACTS], by="tests")
    return namespace


def work_off(jobs: list[Job]) -> list[Any]:
    """Run jobs as a worker does; their results."""
    for job in jobs:
        run_job(job.namespace_id, job.id)
        job.refresh_from_db()
        assert (job.state, job.error) == (JobState.DONE, "")
    return [job.result for job in jobs]


def index_of(namespace: Namespace) -> str:
    return NamespaceStatistics.objects.get(namespace=namespace).vector_index


def hnsw_indexes() -> dict[str, str]:
    """Every HNSW index with its definition."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'")
        return dict(cursor.fetchall())


@pytest.fixture(autouse=True)
def no_index_left() -> Any:
    """Tables are emptied after each test; indexes are not."""
    yield
    Job.objects.all().delete()
    NamespaceStatistics.objects.update(vector_index="")
    scheduled.drop_unused_indexes()


def is_searched_by_index(namespace: Namespace) -> bool:
    query = make_query(namespace, "Who sails?")
    return retriever_context(query, understand(query), query.config.system.params()).indexed


def test_a_worker_builds_the_index_of_a_namespace_that_has_outgrown_scanning(large: Namespace) -> None:
    assert not is_searched_by_index(large)
    work_off(scheduled.start_due_indexing())
    name = index_name(large.id, large.embedder)
    assert index_of(large) == name
    definition = hnsw_indexes()[name]
    assert str(large.id) in definition
    assert "halfvec(384)" in definition
    assert "ef_construction='128'" in definition
    assert not MemoryVector.objects.within(large).filter(indexed=False).exists()
    assert is_searched_by_index(large)
    assert scheduled.start_due_indexing() == []
    assert name in member_of(large).get("/large/health/").content.decode()


def test_a_small_namespace_gets_none(large: Namespace) -> None:
    small = Namespace.objects.create(slug="small", title="small")
    remember(small, [NewMemory(content=FACTS[0])], by="tests")
    assert [job.namespace for job in scheduled.start_due_indexing()] == [large]
    assert index_of(small) == ""
    assert not is_searched_by_index(small)


def test_what_is_written_later_joins_the_index(large: Namespace) -> None:
    work_off(scheduled.start_due_indexing())
    remember(large, [NewMemory(content="Priya reads maps")], by="tests")
    assert MemoryVector.objects.within(large).filter(indexed=False).count() == 1
    work_off(scheduled.start_due_indexing())
    assert not MemoryVector.objects.within(large).filter(indexed=False).exists()
    assert len(hnsw_indexes()) == 1


def test_an_index_that_an_interrupted_build_left_behind_is_built_anew(large: Namespace) -> None:
    MemoryVector.objects.within(large).update(indexed=True)
    name = index_name(large.id, large.embedder)
    statement = create_statement(name, large, large.embedder, 384, concurrently=True)
    # A build waits for transactions that may still write, here until it is cancelled.
    with psycopg.connect(**database_params(), autocommit=False) as other, connection.cursor() as cursor:
        other.execute("UPDATE memories_memoryvector SET active = active")
        cursor.execute("SET statement_timeout = 200")
        with pytest.raises(OperationalError, match="statement timeout"):
            cursor.execute(statement)
        other.rollback()
    assert is_valid(name) is False
    assert build_index(large, large.embedder) == name
    assert is_valid(name)


def is_valid(name: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(IS_VALID, [name])
        (valid,) = cursor.fetchone()
        return valid


def database_params() -> dict[str, Any]:
    params = connection.get_connection_params()
    return {name: params[name] for name in ("host", "port", "user", "password", "dbname") if params.get(name)}


def test_in_a_transaction_it_is_built_as_well(large: Namespace) -> None:
    MemoryVector.objects.within(large).update(indexed=True)
    with transaction.atomic():
        assert build_index(large, large.embedder) in hnsw_indexes()


def test_another_embedder_has_its_index_before_it_serves_and_the_old_one_goes(
    large: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "GRACE_PERIOD", rebuild.GRACE_PERIOD * 0)
    work_off(scheduled.start_due_indexing())
    old = index_of(large)
    work_off([submit_job(large, JobKind.REEMBED, {"embedder": "wordllama-256"}, by="tests")])
    large.refresh_from_db()
    assert index_of(large) == index_name(large.id, "wordllama-256") != old
    assert is_searched_by_index(large)
    assert hnsw_indexes().keys() == {old, index_of(large)}
    assert scheduled.drop_unused_indexes() == [old]
    assert hnsw_indexes().keys() == {index_of(large)}


def test_the_index_of_a_deleted_namespace_is_dropped_but_none_while_one_is_built(large: Namespace) -> None:
    work_off(scheduled.start_due_indexing())
    other = store("other")
    [job] = scheduled.start_due_indexing()
    Job.objects.filter(id=job.id).update(state=JobState.RUNNING)
    large.delete()
    assert scheduled.drop_unused_indexes() == []
    Job.objects.filter(id=job.id).update(state=JobState.QUEUED)
    job.refresh_from_db()
    work_off([job])
    assert len(scheduled.drop_unused_indexes()) == 1
    assert hnsw_indexes().keys() == {index_of(other)}
