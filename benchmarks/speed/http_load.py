"""A real server under one client and under four."""

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
ROUNDS = 6  # parts of the questions
PATIENCE = 120  # seconds
MEGABYTE = 2**20


def measure(namespace: Namespace, questions: Sequence[str]) -> None:
    """Ask over HTTP, alone and four at once."""
    key = make_key()
    ApiKey.objects.create(namespace=namespace, name="benchmark", role=Role.WRITE, hash=key.hash, prefix=key.prefix)
    with server() as (process, port):
        ask = partial(at_once, [Client(port, namespace.slug, key.plain) for _ in range(CLIENTS)])
        ask([questions] * CLIENTS)  # as in use: every worker has been asked before
        alone, together, failed = list[float](), list[float](), 0
        # In turn, so that both see the same machine, whose speed changes by a third within minutes.
        for round in range(ROUNDS):
            some = questions[round::ROUNDS]
            for took, shares in ((alone, [some]), (together, [some[place::CLIENTS] for place in range(CLIENTS)])):
                for each, errors in ask(shares):
                    took += each
                    failed += errors
        half, slow = np.quantile(alone, 0.5), np.quantile(together, 0.95)
        print(f"  over HTTP, alone     {half:6.1f} {np.quantile(alone, 0.95):7.1f}")
        print(f"  over HTTP, {CLIENTS} at once {np.quantile(together, 0.5):6.1f} {slow:7.1f}", end="   ")
        print(f"{slow / half:.1f} × what half of the answers take alone; {failed} failed")
        held = [child.memory_info().rss / MEGABYTE for child in process.children(recursive=True) if is_worker(child)]
        print(f"  each worker holds at most {max(held):.0f} MB")


def at_once(clients: Sequence["Client"], shares: Sequence[Sequence[str]]) -> list[tuple[list[float], int]]:
    """Let a client ask each share of the questions, all at the same time."""
    with ThreadPoolExecutor(len(shares)) as pool:
        return list(pool.map(lambda client, share: client.ask(share), clients, shares))


class Client:
    """A connection that is kept."""

    def __init__(self, port: int, slug: str, secret: str) -> None:
        self.connection = HTTPConnection("127.0.0.1", port)
        self.path = f"/api/v1/{slug}/retrieve/"
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def ask(self, questions: Sequence[str]) -> tuple[list[float], int]:
        """How many milliseconds each question took, and how many failed."""
        took, failed = [], 0
        for text in questions:
            began = time.perf_counter()
            self.connection.request("POST", self.path, json.dumps({"query": text, "record": False}), self.headers)
            answer = self.connection.getresponse()
            answer.read()
            took.append(1000 * (time.perf_counter() - began))
            failed += answer.status != 200
        return took, failed


@contextmanager
def server() -> Iterator[tuple[psutil.Process, int]]:
    """The site as `make run` brings it up, on a free port."""
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
        process.wait(PATIENCE)


def wait_for(port: int) -> None:
    """Until the site is ready."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise TimeoutError(f"the site was not ready within {PATIENCE} s")


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is one of Python's, and not the database's."""
    return "python" in process.name()
