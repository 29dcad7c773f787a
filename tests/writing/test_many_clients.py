"""Concurrent clients of a real server: one memory with the right count, and no deadlock."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.support.site import Site, copy_data, run_manage

pytestmark = pytest.mark.xdist_group("start")

WRITERS = 16
WAYS = ("Maya likes {}", "{} is what Maya likes", "Maya is fond of {}", "Maya enjoys {}")
THINGS = ("sailing", "coffee", "Bach", "running")


@pytest.fixture(scope="module")
def site(empty_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with two processes, started once per module."""
    data = copy_data(empty_data, tmp_path_factory.mktemp("many") / "data")
    started = Site(data, RECALL_DEMO="off", WORKERS=2).wait_until_up()
    yield started
    started.stop()


def client(data: Path, slug: str) -> str:
    """Create a namespace and return a key for it."""
    run_manage(data, "create_namespace", slug)
    return run_manage(data, "create_key", slug, "--role", "write")


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """Run the same function in many threads that start together."""
    ready = Barrier(WRITERS)

    def run(number: int) -> Any:
        ready.wait(30)
        return work(number)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS), timeout=120))


def post(site: Site, key: str, path: str, body: dict[str, Any]) -> Any:
    """The server's answer; raises unless successful."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    address = f"http://127.0.0.1:{site.port}/api/v1/{path}"
    with urlopen(Request(address, json.dumps(body).encode(), headers), timeout=60) as response:
        return json.load(response)


def aggregate(site: Site, slug: str, what: str) -> Any:
    """An aggregate over the memories and statistics of a namespace."""
    ((value,),) = site.query(
        f"""SELECT {what} FROM memories_namespace n
            JOIN memories_namespacestatistics s ON s.namespace_id = n.id
            JOIN memories_memory m ON m.namespace_id = n.id WHERE n.slug = '{slug}' GROUP BY s.documents"""
    )
    return value


def test_sixteen_clients_that_store_one_fact_give_one_memory_with_the_right_count(site: Site) -> None:
    key = client(site.data, "fact")

    def write(number: int) -> str:
        body = {"content": "The ledger runs on PostgreSQL 16", "session": f"session {number}"}
        return str(post(site, key, "fact/memories/", body)["outcome"])

    assert sorted(at_once(write)) == ["merged"] * (WRITERS - 1) + ["stored"]
    assert aggregate(site, "fact", "array[count(*), max(m.repetitions), s.documents]") == [1, WRITERS - 1, 1]


def test_sixteen_clients_that_store_paraphrases_never_deadlock_and_lose_nothing(site: Site) -> None:
    key = client(site.data, "paraphrases")
    before = deadlocks(site)

    def write(number: int) -> list[str]:
        said = [way.format(thing) for way in WAYS[number % 4 :] + WAYS[: number % 4] for thing in THINGS]
        memories = [{"content": content, "session": f"session {number}"} for content in said]
        results = post(site, key, "paraphrases/memories/batch/", {"memories": memories})["results"]
        return [one["outcome"] for one in results]

    outcomes = [outcome for some in at_once(write) for outcome in some]
    assert len(outcomes) == WRITERS * len(WAYS) * len(THINGS)
    assert "refused" not in outcomes
    assert deadlocks(site) == before
    active = "count(*) FILTER (WHERE m.status = 'active')"
    assert aggregate(site, "paraphrases", f"{active} = s.documents AND {active} > 0") is True
    said = "count(DISTINCT m.content) FILTER (WHERE m.status IN ('active', 'merged'))"
    assert aggregate(site, "paraphrases", said) == len(WAYS) * len(THINGS)


def deadlocks(site: Site) -> object:
    """The deadlock count of the database."""
    ((count,),) = site.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return count
