"""A repeated write is executed once, even concurrently and after a crash."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memories.api import idempotency
from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Entity, IdempotencyRecord, Namespace
from memories.writing.remember import remember
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace

pytestmark = pytest.mark.django_db

ENTITIES = "/api/v1/here/entities/"
MAYA = {"name": "Maya", "kind": "person", "aliases": ["M."]}


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def headers(namespace: Namespace) -> dict[str, str]:
    return key_to(namespace)


def post(headers: dict[str, str], body: Any, key: str | None = "k1", address: str = ENTITIES) -> Any:
    """POST an entity under an idempotency key."""
    keyed = headers | ({"Idempotency-Key": key} if key is not None else {})
    client = Client(raise_request_exception=False)
    return client.post(address, body, content_type="application/json", headers=keyed)


def test_the_same_request_again_gets_the_same_answer_to_the_letter(headers: dict[str, str]) -> None:
    first, again = post(headers, MAYA), post(headers, MAYA)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert first["Content-Type"] == again["Content-Type"] == "application/json"
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert Entity.objects.count() == 1


def test_a_repeated_delete_replays_its_response(namespace: Namespace, headers: dict[str, str]) -> None:
    (outcome,) = remember(
        namespace, [NewMemory(content="Maya plays the cello", utterances=(Utterance("direct"),))], by="tests"
    )
    address = f"/api/v1/here/memories/{outcome.memory.id}/"
    answers = [Client().delete(address, headers=headers | {"Idempotency-Key": "k1"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [204, 204]
    problem(Client().delete(address, headers=headers), 404)


def test_the_body_may_be_spaced_and_ordered_otherwise(headers: dict[str, str]) -> None:
    post(headers, '{"name": "Maya", "kind": "person"}')
    assert post(headers, '{"kind":"person","name":"Maya"}')["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(("body", "address"), [({"name": "Noa"}, ENTITIES), (MAYA, f"{ENTITIES}?dry_run=1")])
def test_another_request_under_the_same_key_is_a_conflict(headers: dict[str, str], body: Any, address: str) -> None:
    post(headers, MAYA)
    data = problem(post(headers, body, address=address), 409)
    assert (data["code"], data["errors"][0]["at"]) == ("key_reused", "Idempotency-Key")
    assert Entity.objects.count() == 1


def test_keys_of_two_callers_and_of_two_namespaces_never_meet(namespace: Namespace, headers: dict[str, str]) -> None:
    assert post(headers, MAYA).status_code == 201
    assert post(key_to(namespace), {"name": "Noa"}).status_code == 201
    assert post(key_to(empty_namespace("there")), MAYA, address="/api/v1/there/entities/").status_code == 201


def test_without_a_key_every_request_counts(headers: dict[str, str]) -> None:
    assert post(headers, MAYA, key=None).status_code == 201
    assert problem(post(headers, MAYA, key=None), 409)["code"] == "entity_exists"
    assert not IdempotencyRecord.objects.exists()


def test_an_error_of_the_request_itself_is_replayed_under_the_new_request_s_id(headers: dict[str, str]) -> None:
    first, again = post(headers, {"name": 7}), post(headers, {"name": 7})
    assert problem(first, 400) == problem(again, 400)
    assert again["Idempotency-Replayed"] == "true"
    assert first["X-Request-ID"] != again["X-Request-ID"]


def test_an_error_that_depends_on_stored_data_is_not_replayed(headers: dict[str, str]) -> None:
    post(headers, MAYA, key="other")
    assert problem(post(headers, MAYA), 409)["code"] == "entity_exists"
    Entity.objects.all().delete()
    assert post(headers, MAYA).status_code == 201


def test_a_record_expires_after_a_day(headers: dict[str, str]) -> None:
    post(headers, MAYA)
    record = IdempotencyRecord.objects.get()
    assert record.expires_at - record.created_at == timedelta(hours=24)
    IdempotencyRecord.objects.update(expires_at=timezone.now())
    assert post(headers, {"name": "Noa"}).status_code == 201
    assert IdempotencyRecord.objects.get().id != record.id


@pytest.mark.parametrize("key", ["", "two words", "k" * 201, "schlüssel", "tab\there"])
def test_an_invalid_key_is_refused(headers: dict[str, str], key: str) -> None:
    data = problem(post(headers, MAYA, key=key), 400)
    assert data["errors"] == [
        {"at": "Idempotency-Key", "message": "must be 1 to 200 visible ASCII characters; got something else"}
    ]


@contextmanager
def blocked_inserts(namespace: Namespace, normalised: str) -> Iterator[None]:
    """Block every insert of an entity until the block ends, by an uncommitted row with the same key."""
    with transaction.atomic():
        Entity.objects.create(namespace=namespace, name="in the way", normalised=normalised, kind="person")
        yield
        transaction.set_rollback(True)


def wait_for_blocked(count: int) -> list[int]:
    """Wait until `count` connections wait for a lock; return their pids, longest wait first."""
    until = time.monotonic() + 10
    pids: list[int] = []
    while len(pids) != count:
        assert time.monotonic() < until, f"{len(pids)} of {count} connections wait"
        time.sleep(0.01)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # statistics are cached within a transaction
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
                "ORDER BY state_change"
            )
            pids = [pid for (pid,) in cursor.fetchall()]
    return pids


@pytest.fixture
def at_once() -> Iterator[Callable[..., "Future[Any]"]]:
    """Run requests in separate threads, each with its own connection."""

    def run(*args: Any) -> Any:
        try:
            return post(*args)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        yield lambda *args: pool.submit(run, *args)


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_writes_and_the_others_replay_its_response(
    namespace: Namespace, headers: dict[str, str], at_once: Callable[..., "Future[Any]"]
) -> None:
    with blocked_inserts(namespace, "maya"):
        running = [at_once(headers, MAYA) for _ in range(6)]
        wait_for_blocked(6)
    answers = [future.result(20) for future in running]
    assert [answer.status_code for answer in answers] == [201] * 6
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer for answer in answers) == 5
    assert Entity.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_another_body_that_comes_meanwhile_is_a_conflict(
    namespace: Namespace, headers: dict[str, str], at_once: Callable[..., "Future[Any]"]
) -> None:
    with blocked_inserts(namespace, "maya"):
        first = at_once(headers, MAYA)
        wait_for_blocked(1)
        second = at_once(headers, {"name": "Noa"})
        wait_for_blocked(2)
    assert first.result(20).status_code == 201
    assert problem(second.result(20), 409)["code"] == "key_reused"


@pytest.mark.django_db(transaction=True)
def test_a_request_that_waits_too_long_gets_still_running(
    namespace: Namespace,
    headers: dict[str, str],
    at_once: Callable[..., "Future[Any]"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idempotency, "LOCK_TIMEOUT_MS", 50)
    with blocked_inserts(namespace, "maya"):
        first = at_once(headers, MAYA)
        wait_for_blocked(1)
        second = at_once(headers, MAYA).result(20)
        assert problem(second, 409)["code"] == "still_running"
        assert second["Retry-After"] == "1"
    assert first.result(20).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_a_write_whose_connection_dies_leaves_nothing_and_whoever_waited_does_it(
    namespace: Namespace, headers: dict[str, str], at_once: Callable[..., "Future[Any]"]
) -> None:
    with blocked_inserts(namespace, "maya"):
        first = at_once(headers, MAYA)
        (pid,) = wait_for_blocked(1)
        second = at_once(headers, MAYA)
        wait_for_blocked(2)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        assert problem(first.result(20), 500)["code"] == "internal_server_error"
    answer = second.result(20)
    assert answer.status_code == 201
    assert "Idempotency-Replayed" not in answer
    assert post(headers, MAYA).content == answer.content
    assert (Entity.objects.count(), IdempotencyRecord.objects.count()) == (1, 1)
