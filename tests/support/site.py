"""The site and its commands as processes of their own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import psycopg
from django.conf import settings

from recall_site import environment
from recall_site.postgres import Postgres, read_pid
from tests.support.postgres import postmaster, query_database

PATIENCE = 240  # seconds; a first start on a busy machine


def run_manage(data: Path, *arguments: str, embedder: str = "wordllama-256") -> str:
    """Run a management command in its own process and return its output."""
    command = [sys.executable, "manage.py", *arguments]
    environment = bare_environment(RECALL_DATA=data, RECALL_EMBEDDER=embedder)
    completed = subprocess.run(command, cwd=settings.ROOT, env=environment, check=True, capture_output=True, text=True)
    return completed.stdout.strip()


class Site:
    """A running `python -m recall_site`, in a process group of its own as a terminal would give it."""

    def __init__(self, data: Path, **variables: object) -> None:
        self.data = data
        self.port = variables.setdefault("PORT", free_port())
        self.output = data.with_suffix(".out")
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "recall_site"],
                cwd=settings.ROOT,
                env=bare_environment(RECALL_DATA=data, **variables),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until_up(self) -> "Site":
        deadline = time.monotonic() + PATIENCE
        while "Press Ctrl-C to stop." not in self.output.read_text():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.02)
        return self

    def get(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return str(response.read().decode())

    def status(self, path: str) -> int:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
                return int(response.status)
        except HTTPError as error:
            with error:
                return error.code

    def wait_for_status(self, path: str, status: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.status(path) != status:
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)

    def wait_for_another_postgres(self, former: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while read_pid(self.data / "postgres" / "postmaster.pid") in (0, former):
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGINT) -> int:
        """Signal the whole group, as a terminal does, and answer the exit code."""
        os.killpg(self.process.pid, number)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End the site and its Postgres as a power cut would."""
        pids = [postmaster(self.data), *(child.pid for child in psutil.Process(postmaster(self.data)).children())]
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        for pid in pids:
            with suppress(ProcessLookupError):  # Postgres' children end by themselves without their parent
                os.kill(pid, signal.SIGKILL)

    def worker(self) -> psutil.Process:
        """The worker for long work, once it has registered with the queue."""
        deadline = time.monotonic() + PATIENCE
        while not self.query("SELECT id FROM procrastinate_workers WHERE last_heartbeat > now() - interval '10 s'"):
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.05)
        (worker,) = self.workers()
        return worker

    def workers(self) -> list[psutil.Process]:
        return [one for one in psutil.Process(self.process.pid).children() if "worker" in one.cmdline()]

    def demo_embedder(self) -> str:
        """The embedder of the demo; empty while the database is away."""
        with suppress(psycopg.OperationalError):
            return str(self.query("SELECT embedder FROM memories_namespace WHERE slug = 'demo'")[0][0])
        return ""

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """Ask the site's embedded database."""
        return query_database(self.data, statement)


def copy_data(source: Path, target: Path) -> Path:
    """A copy of a stopped site's data folder, with its owners."""
    shutil.copytree(source, target)
    if os.geteuid() == 0:
        for path in [target / "postgres", *(target / "postgres").rglob("*")]:
            owner = (source / path.relative_to(target)).stat()
            os.chown(path, owner.st_uid, owner.st_gid)
    return target


def bare_environment(**added: object) -> dict[str, str]:
    """The environment without any setting of Recall's, plus some."""
    plain = {name: value for name, value in os.environ.items() if name not in environment.VARIABLES_READ}
    return plain | {name: str(value) for name, value in added.items()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def remove_everybody(data: Path) -> Path:
    """Delete all users and namespaces from a stopped site's data folder."""
    server = Postgres(data)
    server.join()
    try:
        query_database(data, "TRUNCATE auth_user, memories_namespace CASCADE")
    finally:
        server.leave()
    return data
