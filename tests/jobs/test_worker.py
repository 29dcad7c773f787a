"""Workers as real processes: one runs a job, is killed in the middle of it, and another finishes it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlencode

import pytest
from django.conf import settings
from django.db import connection

from memories.contracts.new_memory import NewMemory
from memories.jobs.submission import submit_job
from memories.models import Job, Memory, MemoryVector, Namespace, TokenStates
from memories.models.choices import JobKind, JobState, Status
from memories.writing.remember import remember
from tests.support.site import bare_environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("start")]

PATIENCE = 60  # seconds
MANY = 600
Command = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def command() -> Iterator[Command]:
    """Starts commands on the tests' database, and leaves none behind."""
    known = connection.settings_dict
    where = urlencode({"host": known["HOST"], "port": known["PORT"]}, quote_via=quote)
    url = f"postgres://{known['USER']}@/{known['NAME']}?{where}"
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        begun.append(
            subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=settings.ROOT,
                env=bare_environment(DATABASE_URL=url),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()
    with connection.cursor() as cursor:  # the queue's tables are not emptied after a test
        cursor.execute("DELETE FROM procrastinate_jobs")


@pytest.fixture
def namespace() -> Namespace:
    made = Namespace.objects.create(slug="desk", title="A desk", embedder="wordllama-256")
    names = ["Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo"]
    things = ["tea", "ships", "Bach", "rain", "chess", "maps", "bread", "stars", "glass", "ferns"]
    verbs = ["sells", "paints", "studies", "steals", "hates", "collects"]
    said = [f"{name} {verb} {thing}" for name in names for verb in verbs for thing in things]
    remember(made, [NewMemory(content=text) for text in said[:MANY]], by="tests")
    return made


def wait_for(job: Job, true: Callable[[Job], bool], process: subprocess.Popen[str]) -> Job:
    deadline = time.monotonic() + PATIENCE
    while not true(now := Job.objects.get(id=job.id)):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, (now.state, now.step, now.done, now.error)
        time.sleep(0.05)
    return now


def stop(process: subprocess.Popen[str], number: signal.Signals) -> str:
    process.send_signal(number)
    printed, _ = process.communicate(timeout=PATIENCE)
    return printed


def is_whole(namespace: Namespace, job: Job) -> None:
    active = Memory.objects.filter(status=Status.ACTIVE).count()
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result["embed"]["embedded"] + job.result["switch"]["embedded"] == active
    vectors = MemoryVector.objects.filter(embedder="all-MiniLM-L6-v2")
    assert vectors.count() == TokenStates.objects.filter(embedder="all-MiniLM-L6-v2").count() == active
    assert Namespace.objects.get().embedder == "all-MiniLM-L6-v2"


def test_a_job_whose_worker_is_killed_is_finished_by_another_and_done_once(
    namespace: Namespace, command: Command
) -> None:
    job = submit_job(namespace, JobKind.REEMBED, {"embedder": "all-MiniLM-L6-v2"}, by="tests")
    first = command("worker")
    wait_for(job, lambda now: now.done > 0, first)
    first.kill()
    first.wait()
    left = Job.objects.get(id=job.id)
    assert (left.state, left.step, left.attempts) == (JobState.RUNNING, "embed", 1)
    assert left.done < Memory.objects.filter(status=Status.ACTIVE).count()
    with connection.cursor() as cursor:  # as if the time had passed after which a silent worker counts as dead
        cursor.execute("UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '1 minute'")
    second = command("worker")
    wait_for(job, lambda now: now.step == "clear", second)
    printed = stop(second, signal.SIGTERM)
    assert second.returncode == 0, printed
    assert "Requeued 1 jobs of dead workers" in printed
    assert "Traceback" not in printed
    third = command("worker")
    done = wait_for(job, lambda now: now.state == JobState.DONE, third)
    assert done.attempts == 2
    is_whole(namespace, done)


def test_a_worker_that_is_told_to_stop_hands_its_job_back(namespace: Namespace, command: Command) -> None:
    job = submit_job(namespace, JobKind.REEMBED, {"embedder": "all-MiniLM-L6-v2"}, by="tests")
    worker = command("worker")
    wait_for(job, lambda now: now.done > 0, worker)
    printed = stop(worker, signal.SIGINT)
    assert (worker.returncode, printed) == (0, "")
    back = Job.objects.get(id=job.id)
    assert (back.state, back.step, back.attempts) == (JobState.QUEUED, "embed", 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT status::text, queue_name FROM procrastinate_jobs")
        assert cursor.fetchall() == [("todo", "jobs")]


def test_a_worker_ends_with_the_process_it_works_beside(command: Command) -> None:
    worker = command("worker", "--beside", str(os.getppid()))  # not its parent, as if that were gone
    assert worker.wait(PATIENCE) == 0
