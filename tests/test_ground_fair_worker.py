"""Workers of the web server share connections out among them."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from gunicorn.workers.gthread import ThreadWorker

from recall_site import fair_worker
from recall_site.fair_worker import COURTESY, FairWorker, forget, held


@pytest.fixture(autouse=True)
def nobody() -> Iterator[None]:
    before = held.tobytes()
    held[:] = memoryview(bytes(len(before))).cast("i")
    yield
    held[:] = memoryview(before).cast("i")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What workers do: wait, or take."""
    did: list[str] = []
    monkeypatch.setattr(fair_worker.time, "sleep", lambda seconds: did.append(f"waits {seconds}"))
    monkeypatch.setattr(ThreadWorker, "accept", lambda worker, listener: did.append("takes"))
    return did


def worker(age: int, connections: int) -> FairWorker:
    """A worker with so many connections, of which the others know."""
    made = object.__new__(FairWorker)
    made.age, made.nr_conns, made.alive = age, connections, True
    made.tell()
    return made


def test_who_has_more_than_another_leaves_it_time(done: list[str]) -> None:
    busy, idle = worker(1, 3), worker(2, 2)
    busy.accept(None)
    assert done == [f"waits {COURTESY}", "takes"]
    done.clear()
    idle.accept(None)
    assert done == ["takes"]


def test_whoever_has_as_few_as_any_takes_at_once(done: list[str]) -> None:
    one, other = worker(1, 2), worker(2, 2)
    one.accept(None)
    other.accept(None)
    assert done == ["takes", "takes"]


def test_nobody_waits_for_a_worker_that_is_gone(done: list[str]) -> None:
    left, gone = worker(1, 3), worker(2, 0)
    forget(None, SimpleNamespace(age=gone.age))
    left.accept(None)
    assert done == ["takes"]


def test_nobody_waits_for_a_worker_that_is_about_to_end(done: list[str]) -> None:
    left, ending = worker(1, 3), worker(2, 0)
    ending.alive = False
    ending.tell()
    left.accept(None)
    assert done == ["takes"]
