"""Latency over HTTP: the site under one client and under four."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import psutil

from memories.models import ApiKey, Namespace
from memories.models.choices import Role
from memories.web.api_keys import make_key

ROOT = Path(__file__).parents[2]
CLIENTS = 4
ROUNDS = 6  # alternating between one client and four
TIMEOUT = 120  # seconds
MEGABYTE = 2**20


def measure_http(namespace: Namespace, queries: Sequence[str]) -> None:
    """Send the queries by one client and by four at once, and print the latencies."""
    key = make_key()
    ApiKey.objects.create(namespace=namespace, name="benchmark", role=Role.WRITE, hash=key.hash, prefix=key.prefix)
    with server() as (process, port):
        send = partial(send_concurrently, [Client(port, namespace.slug, key.plain) for _ in range(CLIENTS)])
        send([queries] * CLIENTS)  # warms up every worker
        alone, together, failed = list[float](), list[float](), 0
        # Alternating, since the machine's speed may change by a third within minutes.
        for number in range(ROUNDS):
            batch = queries[number::ROUNDS]
            for took, shares in ((alone, [batch]), (together, [batch[offset::CLIENTS] for offset in range(CLIENTS)])):
                for times, errors in send(shares):
                    took += times
                    failed += errors
        p50, p95 = np.quantile(alone, 0.5), np.quantile(together, 0.95)
        print(f"  over HTTP, alone     {p50:6.1f} {np.quantile(alone, 0.95):7.1f}")
        print(f"  over HTTP, {CLIENTS} at once {np.quantile(together, 0.5):6.1f} {p95:7.1f}", end="   ")
        print(f"p95 is {p95 / p50:.1f} × the p50 alone; {failed} failed")
        memory = [child.memory_info().rss / MEGABYTE for child in process.children(recursive=True) if is_worker(child)]
        print(f"  a worker uses at most {max(memory):.0f} MB")


def send_concurrently(clients: Sequence["Client"], shares: Sequence[Sequence[str]]) -> list[tuple[list[float], int]]:
    """Send each share of the queries by its own client, all at the same time."""
    with ThreadPoolExecutor(len(shares)) as pool:
        return list(pool.map(lambda client, share: client.send(share), clients, shares))


class Client:
    """A client with a persistent connection."""

    def __init__(self, port: int, slug: str, secret: str) -> None:
        self.connection = HTTPConnection("127.0.0.1", port)
        self.path = f"/api/v1/{slug}/retrieve/"
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def send(self, queries: Sequence[str]) -> tuple[list[float], int]:
        """The milliseconds that each query took, and the number that failed."""
        took, failed = [], 0
        for text in queries:
            began = time.perf_counter()
            self.connection.request("POST", self.path, json.dumps({"query": text, "record": False}), self.headers)
            response = self.connection.getresponse()
            response.read()
            took.append(1000 * (time.perf_counter() - began))
            failed += response.status != 200
        return took, failed


@contextmanager
def server() -> Iterator[tuple[psutil.Process, int]]:
    """The site as `make run` starts it, on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PORT": str(port), "RECALL_DEMO": "0", "RECALL_RATE": "100000/minute"}
    process = subprocess.Popen(
        [sys.executable, "-m", "recall_site"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
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
