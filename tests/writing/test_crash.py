"""Crashes while agents write: acknowledged writes survive, and no write is partial."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from memories.providers.token_matrix import TOKEN_DIMENSIONS
from tests.support.postgres import postmaster
from tests.support.site import Site, copy_data, run_manage

pytestmark = pytest.mark.xdist_group("start")

BATCH = 20
ENOUGH = 10  # batches acknowledged before the cut
WORDLLAMA, MINILM = EMBEDDERS = "wordllama-256", "all-MiniLM-L6-v2"  # the second has token states


@pytest.fixture
def data(tmp_path: Path, empty_data: Path) -> Path:
    return copy_data(empty_data, tmp_path / "data")


@pytest.fixture
def embedder() -> str:
    return WORDLLAMA


@pytest.fixture
def start(data: Path, embedder: str) -> Iterator[Callable[[], Site]]:
    """Starts the site over the same data, and stops every one it started."""
    sites: list[Site] = []

    def start_site() -> Site:
        sites.append(Site(data, RECALL_DEMO="off", RECALL_EMBEDDER=embedder).wait_until_up())
        return sites[-1]

    yield start_site
    for running in sites:
        if running.process.poll() is None:
            running.stop(signal.SIGTERM)


@pytest.fixture
def site(start: Callable[[], Site]) -> Site:
    return start()


@pytest.fixture
def key(site: Site, data: Path, embedder: str) -> str:
    run_manage(data, "create_namespace", "desk", embedder=embedder)
    return run_manage(data, "create_key", "desk", "--role", "write")


@contextmanager
def writers(site: Site, key: str, acknowledged: list[str]) -> Iterator[threading.Event]:
    """Three agents that store batches as fast as they can and record what was acknowledged."""
    stop, enough = threading.Event(), threading.Event()

    def write(number: int) -> None:
        batch = 0
        while not stop.is_set():
            batch += 1
            texts = [f"Agent {number} saw parcel {batch * BATCH + place} at gate {number}" for place in range(BATCH)]
            body = json.dumps({"memories": [{"content": text, "session": f"{number}"} for text in texts]}).encode()
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            address = f"http://127.0.0.1:{site.port}/api/v1/desk/memories/batch/"
            try:
                with urlopen(Request(address, body, headers), timeout=30) as response:
                    outcomes = json.load(response)["results"]
            except (OSError, HTTPException, ValueError):
                time.sleep(0.05)
                continue
            assert len(outcomes) == BATCH
            acknowledged.extend(texts)
            if len(acknowledged) >= ENOUGH * BATCH:
                enough.set()

    threads = [threading.Thread(target=write, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield enough
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def check(site: Site, acknowledged: list[str]) -> None:
    """Every acknowledged memory is stored, and every memory is complete."""
    stored = {str(text) for (text,) in site.query("SELECT content FROM memories_memory")}
    assert [text for text in acknowledged if text not in stored] == []
    ((active, vectors, posted, recorded, counted),) = site.query(
        """SELECT (SELECT count(*) FROM memories_memory WHERE status = 'active'),
            (SELECT count(DISTINCT memory_id) FROM memories_memoryvector WHERE active),
            (SELECT count(DISTINCT memory_id) FROM memories_posting),
            (SELECT count(DISTINCT e.memory_id) FROM memories_scoreevent e
                JOIN memories_memory m ON m.id = e.memory_id WHERE m.status = 'active' AND e.cause = 'stored'),
            (SELECT documents FROM memories_namespacestatistics)"""
    )
    assert active == vectors == posted == recorded == counted
    ((unsourced,),) = site.query(
        "SELECT count(*) FROM memories_memory m WHERE NOT EXISTS "
        "(SELECT FROM memories_memorysource s WHERE s.memory_id = m.id)"
    )
    assert unsourced == 0
    # With a token embedder, every memory has all its token states.
    ((complete, truncated),) = site.query(
        f"""SELECT count(*) FILTER (WHERE octet_length(packed) = tokens * {TOKEN_DIMENSIONS} AND tokens > 0),
            count(*) FILTER (WHERE octet_length(packed) <> tokens * {TOKEN_DIMENSIONS} OR tokens = 0)
            FROM memories_tokenstates"""
    )
    ((expected,),) = site.query("SELECT count(*) FROM memories_memoryvector WHERE embedder = 'all-MiniLM-L6-v2'")
    assert (complete, truncated) == (expected, 0)


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_a_server_killed_in_the_middle_of_batches_loses_no_acknowledged_write(
    embedder: str, site: Site, start: Callable[[], Site], key: str
) -> None:
    acknowledged: list[str] = []
    with writers(site, key, acknowledged) as enough:
        assert enough.wait(60)
        site.kill()
    again = start()
    check(again, acknowledged)
    ((embedders,),) = again.query("SELECT array_agg(DISTINCT embedder) FROM memories_memoryvector")
    assert embedders == [embedder]


def test_a_database_killed_in_the_middle_of_batches_comes_back_with_all_that_was_acknowledged(
    site: Site, data: Path, key: str
) -> None:
    acknowledged: list[str] = []
    with writers(site, key, acknowledged) as enough:
        assert enough.wait(60)
        os.kill(postmaster(data), signal.SIGKILL)
        before = len(acknowledged)
        deadline = time.monotonic() + 60
        while len(acknowledged) < before + ENOUGH * BATCH and time.monotonic() < deadline:
            time.sleep(0.05)
    assert len(acknowledged) >= before + ENOUGH * BATCH, "nobody could write again"
    check(site, acknowledged)


@pytest.mark.parametrize("record", [True, False])
def test_a_database_killed_between_answers_loses_no_trace_that_was_acknowledged(
    site: Site, data: Path, key: str, record: bool
) -> None:
    acknowledged: list[str] = []
    with writers(site, key, []) as enough:
        assert enough.wait(60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps({"query": "Which parcel was seen at gate 1?", "record": record}).encode()
    for _ in range(ENOUGH):
        request = Request(f"http://127.0.0.1:{site.port}/api/v1/desk/retrieve/", body, headers)
        with urlopen(request, timeout=30) as response:
            acknowledged.append(json.load(response)["trace"])
    os.kill(postmaster(data), signal.SIGKILL)
    wait_until_answered(site)
    stored = {str(id) for (id,) in site.query("SELECT id FROM memories_trace")}
    assert [id for id in acknowledged if id not in stored] == []


def wait_until_answered(site: Site) -> None:
    """Wait until the database answers again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(Exception):
            return site.query("SELECT 1") and None
        time.sleep(0.1)
    raise TimeoutError("nobody could read again")
