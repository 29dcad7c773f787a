"""Another embedder for a namespace: every vector anew, without a gap for readers or writers."""

import threading
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction

from memories.contracts.new_memory import NewMemory
from memories.contracts.work import WorkerStoppedError
from memories.jobs.attempt import run_job
from memories.jobs.submission import submit_job
from memories.models import Cluster, Job, Memory, MemoryVector, Namespace, TokenStates
from memories.models.choices import JobKind, JobState, Route, Status
from memories.providers.embedder import embedder
from memories.providers.token_matrix import TokenMatrix
from memories.writing import prepare, rebuild
from memories.writing.feedback import forget_memory
from memories.writing.neighbours import nearest_memories
from memories.writing.remember import remember
from memories.writing.turns.conversation import Conversation, NewTurn
from memories.writing.turns.ingest import ingest

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = "wordllama-256", "all-MiniLM-L6-v2"
THINGS = ["tea", "ships", "Bach", "rain", "chess", "maps", "bread", "stars", "glass", "ferns"]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces, and no wait for answers that nobody asked for."""
    monkeypatch.setattr(rebuild, "BATCH_SIZE", 4)
    monkeypatch.setattr(rebuild, "GRACE_PERIOD", timedelta(0))


@pytest.fixture
def namespace() -> Namespace:
    made = Namespace.objects.create(slug="desk", title="A desk", embedder=OLD)
    remember(made, [NewMemory(content=f"Somebody wrote book {n} about {t}") for n, t in enumerate(THINGS)], by="tests")
    return made


def start_reembed(namespace: Namespace, to: str = NEW) -> Job:
    return submit_job(namespace, JobKind.REEMBED, {"embedder": to}, by="tests")


def reload(job: Job) -> Job:
    return Job.objects.get(id=job.id)


def embedders(table: Any) -> dict[str, int]:
    names = list(table.objects.values_list("embedder", flat=True))
    return {name: names.count(name) for name in sorted(set(names))}


def test_every_text_is_embedded_anew_and_nothing_of_the_old_is_left(namespace: Namespace) -> None:
    cluster = Cluster.objects.create(namespace=namespace, embedder=OLD, centroid=[1.0, 0.0], size=2)
    Memory.objects.update(cluster_id=cluster.id)
    job = start_reembed(namespace)
    run_job(namespace.id, job.id)
    done, active = reload(job), Memory.objects.filter(status=Status.ACTIVE).count()
    assert (done.state, done.error) == (JobState.DONE, "")
    assert done.result["embed"] == {"embedded": active}
    assert done.result["switch"] == {"embedded": 0, "without_text": 0}
    assert Namespace.objects.get().embedder == NEW
    assert embedders(MemoryVector) == embedders(TokenStates) == {NEW: active}
    assert not Cluster.objects.exists()
    assert not Memory.objects.exclude(cluster_id=None).exists()
    one = Memory.objects.filter(status=Status.ACTIVE).first()
    assert one
    assert np.allclose(one.vectors.get().vector, embedder(NEW).embed([one.content])[0], atol=1e-3)
    states = one.token_states.get()
    assert TokenMatrix.from_bytes(bytes(states.packed), states.tokens, states.scale).vectors.shape[0] == states.tokens


def test_a_hidden_memory_stays_hidden_in_the_new_vectors(namespace: Namespace) -> None:
    hidden = Memory.objects.filter(status=Status.ACTIVE).first()
    assert hidden
    forget_memory(namespace, hidden.id, by="tests")
    run_job(namespace.id, start_reembed(namespace).id)
    assert MemoryVector.objects.get(memory_id=hidden.id).active is False


def test_a_job_that_stops_goes_on_without_embedding_anything_twice(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[Any] = []
    remade = rebuild.reembed_vectors

    def count_texts(namespace: Namespace, name: str, old: Any) -> Any:
        texts.extend((row.memory_id, row.route) for row in old)
        return remade(namespace, name, old)

    def stop_after_a_piece(job: Job) -> None:
        if job.step == "embed" and job.done:
            raise WorkerStoppedError

    monkeypatch.setattr(rebuild, "reembed_vectors", count_texts)
    job = start_reembed(namespace)
    with pytest.raises(WorkerStoppedError):
        run_job(namespace.id, job.id, stop_after_a_piece)
    waiting = reload(job)
    assert (waiting.state, waiting.step, waiting.done, waiting.attempts) == (JobState.QUEUED, "embed", 4, 0)
    assert Namespace.objects.get().embedder == OLD
    run_job(namespace.id, job.id)
    assert reload(job).state == JobState.DONE
    assert len(texts) == len(set(texts)) == MemoryVector.objects.count()


def test_there_and_back_again_leaves_vectors_of_one_embedder_alone(namespace: Namespace) -> None:
    for name in (NEW, OLD):
        run_job(namespace.id, start_reembed(namespace, name).id)
    assert list(embedders(MemoryVector)) == [OLD]
    assert embedders(TokenStates) == {}


def test_nobody_who_writes_or_asks_meanwhile_finds_a_gap(namespace: Namespace) -> None:
    over = threading.Event()
    troubles: list[str] = []

    def write() -> None:
        mine, number = Namespace.objects.get(), 0
        while not over.wait(0.01):
            remember(mine, [NewMemory(content=f"Ledger {number} was closed in {1900 + number}")], by="tests")
            turn = NewTurn(role="assistant" if number % 2 else "user", text=f"I closed ledger {number}.")
            ingest(mine, Conversation(session="monday", turns=[turn]), by="tests")
            number += 1
        connection.close()

    def check_vectors() -> None:
        while not over.wait(0.01):
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                here = Namespace.objects.get()
                lacking = Memory.objects.within(here).filter(status=Status.ACTIVE)
                lacking = lacking.exclude(vectors__embedder=here.embedder, vectors__active=True)
                troubles.extend(f"{one.content} has no vector by {here.embedder}" for one in lacking)
                vector = embedder(here.embedder).embed(["Somebody wrote book 1 about ships"])
                if not nearest_memories(here, np.asarray(vector), 0.5)[0]:
                    troubles.append(f"nothing is near by {here.embedder}")
        connection.close()

    threads = [threading.Thread(target=target) for target in (write, check_vectors)]
    for thread in threads:
        thread.start()
    try:
        job = start_reembed(namespace)
        run_job(namespace.id, job.id)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert reload(job).state == JobState.DONE
    assert troubles == []
    active = Memory.objects.filter(status=Status.ACTIVE)
    assert active.count() > len(THINGS) / 2
    full = MemoryVector.objects.filter(embedder=NEW, active=True, route=Route.FULL)
    assert full.count() == active.count()
    assert set(MemoryVector.objects.values_list("route", flat=True)) > {Route.FULL, Route.NEXT_USER, Route.ASSISTANT}
    assert list(embedders(MemoryVector)) == [NEW]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("word2vec", "must be one of all-MiniLM-L6-v2, wordllama-256, "),
        ("openai/x@many", "must be an embedder that works here; openai/x@many does not: "),
    ],
)
def test_an_embedder_that_does_not_work_here_is_reported(name: str, told: str) -> None:
    assert rebuild.embedder_error(name).startswith(told)
    assert rebuild.embedder_error(OLD) == ""


def test_vectors_are_filed_under_the_embedder_that_made_them_though_it_changes_meanwhile(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(name: str) -> Any:
        namespace.embedder = NEW  # as another thread does that takes the lock
        return embedder(name)

    monkeypatch.setattr(prepare, "embedder", changing)
    Namespace.objects.update(embedder=NEW)
    (outcome,) = remember(namespace, [NewMemory(content="Somebody sings in the rain")], by="tests")
    filed = MemoryVector.objects.get(memory_id=outcome.memory.id)
    assert (filed.embedder, len(filed.vector)) == (NEW, 384)
