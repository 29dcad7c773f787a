"""The site over HTTP: latency of one client, and the throughput of four that write and ask."""

import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.speed import worlds
from benchmarks.speed.in_process import QUERIES, WARM_UP, BareSearch
from memories.contracts.new_memory import NewMemory
from memories.models import ApiKey, Namespace
from memories.models.choices import Role
from memories.web.api_keys import make_key

ROOT = Path(__file__).parents[2]
CLIENTS = 4
QUERIES_PER_WRITE = 3
ROUNDS = 6  # alternating between the site and the bare search
TIMEOUT = 120  # seconds
MEGABYTE = 2**20
Timings = dict[str, list[float]]  # ms by path


def measure_http(namespace: Namespace, search: BareSearch, requests: int) -> None:
    """Print the latencies of one client, the answers per second of four beside the bare search's, and the memory."""
    key = make_key()
    ApiKey.objects.create(namespace=namespace, name="benchmark", role=Role.WRITE, hash=key.hash, prefix=key.prefix)
    with server() as (process, port), ExitStack() as stack:
        clients = [Client(port, namespace.slug, key.plain) for _ in range(CLIENTS)]
        searches = [stack.enter_context(search.connected()) for _ in range(CLIENTS)]
        run_together([partial(client.run, mixed_load(WARM_UP)) for client in clients])
        warm = worker_megabytes(process)
        print_client_latencies(clients[0])
        answers, bare = list[float](), list[float]()
        # Alternating, since the machine's speed may change by a third within minutes.
        for _ in range(ROUNDS):
            loads = [mixed_load(requests // CLIENTS // ROUNDS) for _ in clients]
            asked = sum(path == Client.RETRIEVE for load in loads for path, _ in load)
            answers.append(asked / run_together([partial(c.run, load) for c, load in zip(clients, loads, strict=True)]))
            queries = worlds.benchmark_queries(QUERIES)
            bare.append(CLIENTS * len(queries) / run_together([partial(search_all, one, queries) for one in searches]))
        share = np.median(bare) / np.median(answers)
        print(
            f"  {CLIENTS} clients, a write before {QUERIES_PER_WRITE} queries: {np.median(answers):.0f} answers/s",
            end="",
        )
        print(f"; the bare search {np.median(bare):.0f}/s: 1/{share:.1f}; {sum(c.failed for c in clients)} failed")
        print(f"  the largest worker: {warm:.0f} MB warm, {worker_megabytes(process):.0f} MB after {requests} requests")


def print_client_latencies(client: "Client") -> None:
    """One client alone: p50 and p95 of a write and of a query."""
    for path, took in client.run(mixed_load(QUERIES)).items():
        p50, p95 = np.quantile(took, [0.5, 0.95])
        print(f"  over HTTP, alone: POST {path}/ {p50:6.1f} {p95:7.1f}")


def mixed_load(count: int) -> list[tuple[str, dict[str, Any]]]:
    """Requests as agents send them: a memory, then queries, of which each counts as an access."""
    queries = worlds.benchmark_queries(QUERIES)
    random.shuffle(queries)
    next_query = itertools.cycle(queries)
    memories = worlds.new_memories(count // (1 + QUERIES_PER_WRITE) + 1)
    requests: list[tuple[str, dict[str, Any]]] = []
    for memory in memories:
        requests.append((Client.REMEMBER, memory_body(memory)))
        requests += [(Client.RETRIEVE, {"query": next(next_query)}) for _ in range(QUERIES_PER_WRITE)]
    return requests[:count]


def memory_body(memory: NewMemory) -> dict[str, Any]:
    """A new memory as the body of a request."""
    body = {"content": memory.content, "type": memory.type, "source_level": "direct"}
    return body | ({"entities": list(memory.entities)} if memory.entities else {})


def run_together(work: Sequence[Callable[[], object]]) -> float:
    """Do all of it at the same time; how many seconds it took."""
    began = time.perf_counter()
    with ThreadPoolExecutor(len(work)) as pool:
        list(pool.map(lambda one: one(), work))
    return time.perf_counter() - began


def search_all(bare: Callable[[str], float], queries: Sequence[str]) -> None:
    """Search for each query."""
    for query in queries:
        bare(query)


def worker_megabytes(process: psutil.Process) -> float:
    """The memory of the largest Python process of the site."""
    return max(child.memory_info().rss / MEGABYTE for child in process.children(recursive=True) if is_worker(child))


class Client:
    """A client with a persistent connection."""

    REMEMBER, RETRIEVE = "memories", "retrieve"

    def __init__(self, port: int, slug: str, secret: str) -> None:
        self.connection = HTTPConnection("127.0.0.1", port)
        self.root = f"/api/v1/{slug}"
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        self.failed = 0

    def run(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> Timings:
        """Send requests one after another; the milliseconds that each took."""
        took: Timings = {}
        for path, body in requests:
            began = time.perf_counter()
            self.connection.request("POST", f"{self.root}/{path}/", json.dumps(body), self.headers)
            response = self.connection.getresponse()
            response.read()
            took.setdefault(path, []).append(1000 * (time.perf_counter() - began))
            self.failed += response.status >= 400
        return took


@contextmanager
def server() -> Iterator[tuple[psutil.Process, int]]:
    """The site as `make run` starts it, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = {"PORT": str(port), "RECALL_DEMO": "0", "RECALL_RATE": "100000/minute", "MALLOC_ARENA_MAX": "2"}
    process = subprocess.Popen(
        [sys.executable, "-m", "recall_site"], cwd=ROOT, env=os.environ | made, stdout=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        yield psutil.Process(process.pid), port
    finally:
        process.terminate()
        process.wait(TIMEOUT)


def wait_for(port: int) -> None:
    """Wait until the site is ready."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise TimeoutError(f"the site was not ready within {TIMEOUT} s")


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Python process, not Postgres."""
    return "python" in process.name()
