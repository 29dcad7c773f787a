"""Concurrent retrievals: every access counts, once in a session, without deadlocks."""

import random
import threading
import time
from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from memories.models import DailyAccess, Memory, Namespace, SessionReturn
from memories.retrieval import access_counts
from memories.retrieval.answer import build_answer
from memories.retrieval.retrieve import retrieve
from memories.writing.edit import edit_memory
from memories.writing.feedback import confirm_memory, forget_memory
from memories.writing.remember import remember
from tests.support.concurrency import WRITERS, run_concurrently
from tests.support.retrieval_world import NOW, make_query, new_memory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("retrieval")]
TEXTS = ("The ledger runs on PostgreSQL", "The cat is called Olle", "Standup begins at nine", "Alma likes hazelnuts")
QUERY = "What is there?"


@pytest.fixture
def desk() -> Namespace:
    """Four memories that every question finds."""
    namespace = Namespace.objects.create(slug="desk", title="A desk", clock=NOW)
    remember(namespace, [new_memory(text, "Fact", "", {}) for text in TEXTS], by="tests")
    return namespace


def retrieve_and_record(namespace: Namespace, **given: str) -> list[UUID]:
    """Retrieve, and count what came back."""
    query = make_query(namespace, QUERY, "contextdb", **given)
    ids = build_answer(retrieve(query)).result_ids
    access_counts.record_access(query, ids)
    return ids


def counts(namespace: Namespace) -> list[int]:
    """How often each memory was accessed; the days must say the same."""
    stored = dict(Memory.objects.within(namespace).values_list("id", "access_count"))
    days: Counter[UUID] = Counter()
    for one in DailyAccess.objects.within(namespace):
        days[one.memory_id] += one.count
    assert {id: count for id, count in stored.items() if count} == dict(days)
    return list(stored.values())


def test_sixteen_that_ask_at_once_are_sixteen_accesses(desk: Namespace) -> None:
    answers = run_concurrently(lambda number: str(len(retrieve_and_record(desk))))
    assert answers == ["4"] * WRITERS
    assert counts(desk) == [WRITERS] * 4


def test_sixteen_of_one_session_are_one_access(desk: Namespace) -> None:
    run_concurrently(lambda number: str(len(retrieve_and_record(desk, session="s", user="maya"))))
    assert counts(desk) == [1] * 4
    assert SessionReturn.objects.within(desk).count() == 4


def test_many_that_are_given_much_at_once_neither_block_each_other_nor_lose_a_count() -> None:
    namespace = Namespace.objects.create(slug="shelf", title="A shelf", clock=NOW)
    words = [f"word{number}" for number in range(60)]
    told = [f"{one} {words[-place]} {words[place // 2]}" for place, one in enumerate(words)]
    remember(namespace, [new_memory(text, "Fact", "", {}) for text in told], by="tests")
    ids = list(Memory.objects.within(namespace).values_list("id", flat=True))
    given, rounds = 40, 6

    def work(number: int) -> str:
        chance = random.Random(number)
        for turn in range(rounds):
            query = make_query(namespace, QUERY, session=f"{number} {turn}")
            access_counts.record_access(query, chance.sample(ids, given))
        return "asked"

    assert run_concurrently(work) == ["asked"] * WRITERS
    assert sum(counts(namespace)) == WRITERS * rounds * given


def test_a_session_is_one_for_each_user(desk: Namespace) -> None:
    run_concurrently(lambda number: str(len(retrieve_and_record(desk, session="s", user=f"user {number % 4}"))))
    assert counts(desk) == [4] * 4
    assert SessionReturn.objects.within(desk).count() == 16


def test_those_with_a_session_and_those_without_are_counted_side_by_side(desk: Namespace) -> None:
    run_concurrently(
        lambda number: str(len(retrieve_and_record(desk, session="" if number % 2 else f"s {number % 8}")))
    )
    assert counts(desk) == [WRITERS // 2 + 4] * 4


def test_a_memory_that_is_given_twice_in_one_answer_counts_once(desk: Namespace) -> None:
    one = Memory.objects.within(desk).first()
    assert one is not None
    access_counts.record_access(make_query(desk, QUERY), [one.id, one.id])
    assert sorted(counts(desk)) == [0, 0, 0, 1]


def test_a_memory_that_is_gone_meanwhile_is_no_reason_to_fail(desk: Namespace) -> None:
    ids = list(Memory.objects.within(desk).values_list("id", flat=True))
    Memory.objects.within(desk).filter(id=ids[0]).delete()
    for session in ("", "s"):
        began = time.monotonic()
        access_counts.record_access(make_query(desk, QUERY, session=session), ids)
        assert time.monotonic() - began < access_counts.MAX_WAIT
    assert counts(desk) == [2] * 3


def test_accesses_of_two_days_are_distinguished(desk: Namespace) -> None:
    retrieve_and_record(desk)
    desk.clock = NOW + timedelta(days=1)
    retrieve_and_record(desk)
    retrieve_and_record(desk)
    one = Memory.objects.within(desk).first()
    assert one is not None
    days = DailyAccess.objects.within(desk).filter(memory=one).order_by("day")
    assert list(days.values_list("day", "count")) == [(NOW.date(), 1), (desk.clock.date(), 2)]
    assert one.last_accessed_at == desk.clock


def test_writers_of_the_same_memories_neither_block_nor_lose_a_count(desk: Namespace) -> None:
    ids = sorted(Memory.objects.within(desk).values_list("id", flat=True))

    def work(number: int) -> str:
        # A quarter of them write, each in another order.
        if number % 4 == 0:
            for memory in ids if number % 8 else ids[::-1]:
                confirm_memory(desk, memory, by=f"writer {number}")
                edit_memory(desk, memory, {"importance": number / WRITERS}, by=f"writer {number}")
            return "wrote"
        return str(len(retrieve_and_record(desk, session=f"s {number}" if number % 2 else "")))

    assert Counter(run_concurrently(work)) == {"wrote": WRITERS // 4, "4": WRITERS - WRITERS // 4}
    assert counts(desk) == [WRITERS - WRITERS // 4] * 4
    assert {one.repetitions for one in Memory.objects.within(desk)} == {WRITERS // 4}


def test_a_batch_that_writes_the_same_memories_for_a_while_loses_no_count(desk: Namespace) -> None:
    """Whoever holds the rows in any order, for less than a count waits, only delays it."""
    ids = sorted(Memory.objects.within(desk).values_list("id", flat=True))
    holding, held = threading.Barrier(WRITERS), 0.3

    def work(number: int) -> str:
        if number:
            holding.wait()
            return str(len(retrieve_and_record(desk, session=f"s {number % 3}" if number % 2 else "")))
        with transaction.atomic():
            for memory in ids[::-1]:
                Memory.objects.within(desk).filter(id=memory).update(importance=0.9)
                if memory == ids[-1]:
                    holding.wait()
                time.sleep(held / len(ids))
        return "wrote"

    answers = run_concurrently(work)
    assert answers[0] == "wrote"
    without = len([number for number in range(1, WRITERS) if number % 2 == 0])
    assert counts(desk) == [without + 3] * 4
    assert {one.importance for one in Memory.objects.within(desk)} == {0.9}


def test_what_is_forgotten_while_others_ask_comes_back_to_nobody_afterwards(desk: Namespace) -> None:
    gone = Memory.objects.within(desk).get(content=TEXTS[1]).id

    def work(number: int) -> str:
        if number == 0:
            forget_memory(desk, gone, by="tests")
            return "forgot"
        return str(len(retrieve_and_record(desk, session=f"s {number}")))

    assert set(run_concurrently(work)) <= {"forgot", "3", "4"}
    assert gone not in retrieve_and_record(desk)
    by_memory = dict(Memory.objects.within(desk).values_list("id", "access_count"))
    assert {count for id, count in by_memory.items() if id != gone} == {WRITERS}
    assert by_memory[gone] == SessionReturn.objects.within(desk).filter(memory_id=gone).count()


def test_deleting_memories_while_a_session_notes_them_is_no_deadlock(desk: Namespace) -> None:
    ids = sorted(Memory.objects.within(desk).values_list("id", flat=True))
    deleting = threading.Event()

    def work(number: int) -> str:
        if number:
            deleting.wait()
            access_counts.record_access(make_query(desk, QUERY, session=f"s {number}"), ids)
            return "asked"
        with transaction.atomic(), connection.cursor() as cursor:
            # As an erasure takes them: the last first.
            for memory in ids[:1:-1]:
                cursor.execute("DELETE FROM memories_memory WHERE namespace_id = %s AND id = %s", [desk.id, memory])
                deleting.set()
                time.sleep(0.1)
        return "erased"

    assert Counter(run_concurrently(work)) == {"asked": WRITERS - 1, "erased": 1}
    assert counts(desk) == [WRITERS - 1] * 2
