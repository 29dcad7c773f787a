"""Concurrent writers: one memory with the right count, and no deadlock."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from memories.api.entity_registry import create_entity
from memories.contracts.new_memory import NewMemory
from memories.models import Entity, Memory, Namespace, NamespaceStatistics, TermStatistic
from memories.models.choices import Status
from memories.web.http_errors import Conflict
from memories.writing.lock import lock_namespace
from memories.writing.remember import remember
from tests.support.concurrency import WRITERS, run_concurrently

pytestmark = pytest.mark.django_db(transaction=True)


def test_sixteen_writers_of_one_fact_give_one_memory_with_the_right_count() -> None:
    namespace = Namespace.objects.create(slug="desk", title="A desk")

    def write(number: int) -> str:
        new = NewMemory(content="The ledger runs on PostgreSQL 16", session=f"session {number}")
        return remember(namespace, [new], by="tests")[0].outcome

    outcomes = run_concurrently(write)
    assert sorted(outcomes) == ["merged"] * (WRITERS - 1) + ["stored"]
    memory = Memory.objects.get()
    assert memory.repetitions == WRITERS - 1
    assert NamespaceStatistics.objects.get().documents == 1
    assert TermStatistic.objects.get(term="ledger").documents == 1


def test_an_entity_is_made_when_the_batch_that_may_make_it_is_written() -> None:
    namespace = Namespace.objects.create(slug="desk", title="A desk")
    started = threading.Event()

    def make_maya() -> None:
        started.set()
        try:
            create_entity(namespace, name="Maya", kind="", aliases=[])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_namespace(namespace)
            creation = pool.submit(make_maya)
            started.wait(5)
            (outcome,) = remember(namespace, [NewMemory(content="Maya sails", entities=("Maya",))], by="tests")
        creation.result(5)
    assert outcome.outcome == "stored"
    # The batch created the entity first; the later request registered it.
    assert Entity.objects.within(namespace).get().registered
    with pytest.raises(Conflict):
        create_entity(namespace, name="Maya", kind="", aliases=[])


def test_sixteen_writers_of_paraphrases_never_deadlock_and_lose_nothing() -> None:
    namespace = Namespace.objects.create(slug="desk", title="A desk")
    ways = ["Maya likes {}", "{} is what Maya likes", "Maya is fond of {}", "Maya enjoys {}"]
    things = ["sailing", "coffee", "Bach", "running"]

    def write(number: int) -> str:
        texts = [way.format(thing) for way in ways[number % 4 :] + ways[: number % 4] for thing in things]
        new_memories = [NewMemory(content=content, session=f"session {number}") for content in texts]
        return " ".join(outcome.outcome for outcome in remember(namespace, new_memories, by="tests"))

    outcomes = " ".join(run_concurrently(write)).split()
    assert len(outcomes) == WRITERS * len(ways) * len(things)
    active = Memory.objects.filter(status=Status.ACTIVE).count()
    assert NamespaceStatistics.objects.get().documents == active
    assert not Memory.objects.filter(status=Status.ACTIVE, length=0).exists()
