"""The search effort of a namespace: measured until the index finds what the write policy demands, then served."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db.models import F
from django.utils import timezone

from memories.db import pipeline
from memories.db.ids import uuid7
from memories.jobs.attempt import run_job
from memories.jobs.scheduled import start_due_measurements
from memories.jobs.submission import submit_job
from memories.maintenance import index_recall
from memories.models import Job, Memory, MemoryVector, Namespace, NamespaceStatistics, Publication
from memories.models.choices import JobKind, JobState
from memories.retrieval.config import resolve_config
from memories.retrieval.parse import understand
from memories.retrieval.query import Query
from memories.retrieval.retrieve import database_settings, retrieve, retriever_context
from memories.retrieval.retrievers import semantic
from memories.tuning.policy_versions import add_policy_version, publish_policy
from memories.writing import vector_index
from scoring.specificity import Plan
from tests.support.profiles import add_version, force_publish
from tests.support.rows import row
from tests.support.traces import trace_row
from tests.support.vector_indexes import index_vectors

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]

DIMENSIONS = 256
POOL = 10  # with a longer list the search is wider
QUERIES = [f"number {number} of {number + 7}" for number in range(0, 100, 2)]
UNSEEN = [f"number {number} of {number + 7}" for number in range(1, 40, 2)]


def store_vectors(slug: str, count: int) -> Namespace:
    """An indexed namespace of vectors in all directions, in which no neighbour leads to another."""
    namespace = Namespace.objects.create(slug=slug, title=slug, embedder="wordllama-256")
    vectors = np.random.default_rng(count).normal(size=(count, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    memories = [
        Memory(
            namespace=namespace,
            type="Fact",
            content=f"number {number}",
            content_hash=uuid7().bytes * 2,
            source_strength=0.95,
            extractor_confidence=0.9,
            type_prior=0.8,
            confidence=0.9,
        )
        for number in range(count)
    ]
    Memory.objects.bulk_create(memories)
    MemoryVector.objects.bulk_create(
        MemoryVector(namespace=namespace, memory=memory, embedder=namespace.embedder, vector=vector, indexed=True)
        for memory, vector in zip(memories, vectors.tolist(), strict=True)
    )
    force_publish(namespace, add_version(namespace, {"pool": POOL}))
    sizes = {"documents": count, "total_length": 2 * count}
    NamespaceStatistics.objects.update_or_create(namespace=namespace, defaults=sizes)
    index_vectors(namespace)
    return namespace


@pytest.fixture
def hard(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A namespace with a sparse index that is searched with little effort at first: hard for HNSW."""
    monkeypatch.setattr(vector_index, "EF_CONSTRUCTION", 32)  # as sparse as pgvector allows
    monkeypatch.setattr(semantic, "EF_SEARCH", 20)
    monkeypatch.setattr(index_recall, "EFFORTS", (20, *index_recall.EFFORTS))
    namespace = store_vectors("hard", 2_400)
    for way in ("seqscan", "bitmapscan", "sort"):
        pipeline.fetch_pipeline([pipeline.Statement(f"SET LOCAL enable_{way} = off")])
    return namespace


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A namespace with an index."""
    monkeypatch.setattr(index_recall, "SAMPLE_SIZE", len(QUERIES) // 5)
    return store_vectors("large", 20)


def ask(namespace: Namespace) -> None:
    """Leave the traces of queries, which are far from every vector."""
    for text in QUERIES:
        trace_row(namespace, text)


def stored_vectors(namespace: Namespace) -> dict[Any, Any]:
    """The vectors by memory."""
    rows = MemoryVector.objects.within(namespace).values_list("memory_id", "vector")
    return {memory: np.asarray(vector) for memory, vector in rows}


def measure(namespace: Namespace) -> dict[str, Any]:
    """Run a measurement and return what it recorded."""
    job = submit_job(namespace, JobKind.MEASURE, {}, by="tests")
    run_job(namespace.id, job.id)
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.DONE, "")
    result: dict[str, Any] = job.result["measure"]
    return result


def set_threshold(namespace: Namespace, recall: float) -> Publication:
    """Publish a policy that demands a recall of the index."""
    version = add_policy_version(namespace, name="default", params={"index_recall": recall}, note="", by="tests")
    return publish_policy(namespace, version.id, note="", by="tests")


def retrieved_share(namespace: Namespace) -> float:
    """The share of the ten nearest that retrievals find, for queries that no measurement has seen."""
    vectors, recalls = stored_vectors(namespace), []
    for text in UNSEEN:
        query = Query(namespace=namespace, text=text, config=resolve_config(namespace, params={}))
        parsed = understand(query)
        nearest = sorted(vectors, key=lambda memory: -float(vectors[memory] @ parsed.vector))[:10]
        listed = list(retrieve(query, parsed).fetched.lists["semantic"])[:10]
        recalls.append(len(set(nearest) & set(listed)) / 10)
    return float(np.mean(recalls))


def test_the_effort_rises_until_the_index_finds_what_the_policy_demands(hard: Namespace) -> None:
    ask(hard)
    before = retrieved_share(hard)
    result = measure(hard)
    *low, chosen = sorted(int(effort) for effort in result["by_effort"])
    assert low[0] == semantic.EF_SEARCH
    assert result["by_effort"][str(low[0])] < 0.95 <= result["by_effort"][str(chosen)]
    assert result["ef_search"] == chosen == NamespaceStatistics.objects.get(namespace=hard).ef_search
    found = index_recall.latest_index_recall(hard)
    assert found is not None
    assert (found.alert, found.ef_search) == (False, chosen)
    # Retrievals search with it.
    query = Query(namespace=hard, text=UNSEEN[0], config=resolve_config(hard, params={}))
    context = retriever_context(query, understand(query), query.config.params_under(Plan("all")))
    assert database_settings(context)["hnsw.ef_search"] == str(chosen)
    assert retrieved_share(hard) > max(before, 0.92)


def test_without_a_measurement_the_default_serves_and_a_list_is_never_longer_than_the_effort() -> None:
    assert semantic.ef_search(0, 60) == semantic.EF_SEARCH
    assert semantic.ef_search(250, 60) == 250
    assert semantic.ef_search(60, 200) == 200
    assert semantic.ef_search(0, 5_000) == semantic.MAX_EF_SEARCH


def test_an_index_measured_by_stored_vectors_is_measured_again_by_queries(large: Namespace) -> None:
    measure(large)
    assert start_due_measurements() == []
    ask(large)
    [job] = start_due_measurements()
    run_job(large.id, job.id)
    assert start_due_measurements() == []


def test_an_index_is_measured_again_when_its_size_policy_or_embedder_changes(large: Namespace) -> None:
    [job] = start_due_measurements()
    assert start_due_measurements() == []
    run_job(large.id, job.id)
    assert start_due_measurements() == []
    statistics = NamespaceStatistics.objects.filter(namespace=large)
    statistics.update(documents=F("documents") * 1.4)
    assert start_due_measurements() == []
    statistics.update(documents=F("documents") * 1.1)
    [job] = start_due_measurements()
    run_job(large.id, job.id)
    set_threshold(large, 0.9)
    [job] = start_due_measurements()
    run_job(large.id, job.id)
    assert start_due_measurements() == []
    statistics.update(vector_index="")
    set_threshold(large, 0.91)
    assert start_due_measurements() == []


def test_a_failed_measurement_is_tried_again_after_a_day(large: Namespace) -> None:
    job = row(Job, large, kind=JobKind.MEASURE, state=JobState.FAILED, created_at=timezone.now() - timedelta(hours=23))
    assert start_due_measurements() == []
    Job.objects.filter(id=job.id).update(created_at=timezone.now() - timedelta(hours=25))
    assert len(start_due_measurements()) == 1


def test_an_index_is_measured_after_its_vectors_are_in(large: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.jobs.scheduled.namespaces_to_index", lambda: [large])
    assert start_due_measurements() == []
