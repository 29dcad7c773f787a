"""Workers of the web server share connections out among them, and stay with who asks again."""

import io
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

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


class Caller:
    """Somebody who keeps a connection, seen from both ends."""

    def __init__(self) -> None:
        self.end, self.sock = socket.socketpair()
        self.parser = SimpleNamespace(unreader=SimpleNamespace(buf=io.BytesIO()))
        self.answered = 0


@pytest.fixture
def caller(monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """A caller whose requests are one byte each; the worker reads what there is and keeps the connection."""

    def handle(worker: FairWorker, conn: Any) -> bool:
        conn.answered += 1
        unreader = conn.parser.unreader
        if ahead := unreader.buf.getvalue():
            unreader.buf = io.BytesIO(ahead[1:])
        return bool(ahead or conn.sock.recv(1))

    monkeypatch.setattr(ThreadWorker, "handle", handle)
    made = Caller()
    made.sock.settimeout(5)
    yield made
    made.end.close()
    made.sock.close()


def staying(connections: int = 1, threads: int = 2) -> FairWorker:
    """A worker with so many threads."""
    made = worker(1, connections)
    made.cfg = SimpleNamespace(threads=threads)
    return made


def test_who_asks_again_soon_is_answered_by_the_same_thread_and_then_given_back(caller: Caller) -> None:
    caller.end.sendall(b"123")
    assert staying().handle(caller) is True
    assert caller.answered == 3


def test_who_hangs_up_is_no_longer_kept(caller: Caller) -> None:
    caller.end.sendall(b"1")
    caller.end.shutdown(socket.SHUT_WR)
    assert staying().handle(caller) is False


def test_what_was_read_ahead_is_answered_too(caller: Caller) -> None:
    caller.parser.unreader.buf = io.BytesIO(b"12")
    assert staying().handle(caller) is True
    assert caller.answered == 2


@pytest.mark.parametrize("without", ["a thread left for others", "time left"])
def test_nobody_stays_with_a_caller_without(without: str, caller: Caller) -> None:
    busy = staying(connections=2) if without == "a thread left for others" else staying()
    busy.alive = without != "time left"
    caller.end.sendall(b"12")
    assert busy.handle(caller) is True
    assert caller.answered == 1


@pytest.mark.parametrize("fails", [False, True])
def test_however_a_worker_ends_nobody_stays_with_a_caller(
    fails: bool, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(worker: FairWorker) -> None:
        if fails:
            raise OSError("too many open files")

    monkeypatch.setattr(ThreadWorker, "run", ends)
    ending = staying()
    with pytest.raises(OSError, match="too many") if fails else nullcontext():
        ending.run()
    caller.end.sendall(b"12")
    assert ending.handle(caller) is True
    assert caller.answered == 1
