"""Background jobs: started and polled over REST and by command."""

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.contracts.work import Work
from memories.models import Job, MemoryVector, Namespace
from memories.models.choices import JobKind, JobState, Role
from memories.writing.remember import remember
from tests.support.access import key_to
from tests.support.problems import problem

pytestmark = pytest.mark.django_db

JOBS = "/api/v1/desk/jobs/"


@pytest.fixture
def namespace() -> Namespace:
    return Namespace.objects.create(slug="desk", title="A desk", embedder="wordllama-256")


def post(client: Client, namespace: Namespace, body: dict[str, Any], role: Role = Role.ADMIN, **more: str) -> Any:
    return client.post(JOBS, body, "application/json", headers=key_to(namespace, role) | more)


def test_a_job_is_accepted_with_the_url_to_poll(client: Client, namespace: Namespace) -> None:
    answer = post(client, namespace, {"kind": "reflect", "params": {"full": True, "archive": False}}, Role.WRITE)
    data = answer.json()
    assert answer.status_code == 202
    assert answer["Location"] == f"{JOBS}{data['id']}/"
    assert (data["kind"], data["state"], data["params"], data["share"]) == ("reflect", "queued", {"full": True}, 0.0)
    watched = client.get(answer["Location"], headers=key_to(namespace, Role.READ))
    assert watched.json() == data


def test_an_identical_request_returns_the_same_job_and_another_one_is_refused(
    client: Client, namespace: Namespace
) -> None:
    first = post(client, namespace, {"kind": "reflect"}).json()
    assert post(client, namespace, {"kind": "reflect", "params": {"full": False}}).json()["id"] == first["id"]
    refused = problem(post(client, namespace, {"kind": "reflect", "params": {"archive": True}}), 409)
    assert refused["code"] == "job_unfinished"
    assert first["id"] in refused["detail"]
    assert Job.objects.count() == 1


def test_a_repeated_request_under_its_key_is_replayed(client: Client, namespace: Namespace) -> None:
    headers = key_to(namespace) | {"Idempotency-Key": "one"}
    first, again = (client.post(JOBS, {"kind": "reflect"}, "application/json", headers=headers) for _ in range(2))
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    assert again["Idempotency-Replayed"] == "true"


def test_only_an_admin_changes_the_embedder(client: Client, namespace: Namespace) -> None:
    body = {"kind": "reembed", "params": {"embedder": "wordllama-256"}}
    assert problem(post(client, namespace, body, Role.WRITE), 403)["detail"].startswith("This needs the role admin; ")
    assert post(client, namespace, body).status_code == 202


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({}, "kind", "is required"),
        ({"kind": "import"}, "kind", 'must be one of reflect, reembed, measure; got "import"'),
        ({"kind": "reflect", "params": []}, "params", "must be an object"),
        ({"kind": "reflect", "params": {"full": 1}}, "params.full", "must be true or false"),
        ({"kind": "reflect", "params": {"deep": True}}, "params.deep", "is not a known field; known are full, archive"),
        ({"kind": "reembed"}, "params.embedder", "is required"),
        ({"kind": "reembed", "params": {"embedder": "word2vec"}}, "params.embedder", "must be one of all-MiniLM-L6-v2"),
    ],
)
def test_an_invalid_job_request_is_refused_at_its_field(
    client: Client, namespace: Namespace, body: dict[str, Any], at: str, message: str
) -> None:
    (error,) = problem(post(client, namespace, body), 400)["errors"]
    assert error["at"] == at
    assert message in error["message"]
    assert not Job.objects.exists()


def test_jobs_are_listed_newest_first_by_kind_and_state(
    client: Client, namespace: Namespace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made = [
        Job.objects.create(namespace=namespace, kind=kind, state=state)
        for kind, state in [("import", "done"), ("reflect", "failed"), ("reflect", "queued")]
    ]
    headers = key_to(namespace, Role.READ)
    client.get(JOBS, headers=headers)
    with django_assert_num_queries(2):  # the key with its namespace, jobs
        found = client.get(JOBS, headers=headers).json()["results"]
    assert [one["id"] for one in found] == [str(job.id) for job in reversed(made)]
    for query, expected in {"kind=reflect": 2, "state=done": 1, "kind=reflect&state=failed": 1}.items():
        assert len(client.get(f"{JOBS}?{query}", headers=headers).json()["results"]) == expected
    assert problem(client.get(f"{JOBS}?state=odd", headers=headers), 400)["errors"][0]["at"] == "state"


def test_a_job_of_another_namespace_is_not_there(client: Client, namespace: Namespace) -> None:
    other = Job.objects.create(namespace=Namespace.objects.create(slug="there", title="There"), kind="reflect")
    assert problem(client.get(f"{JOBS}{other.id}/", headers=key_to(namespace)), 404)["code"] == "not_found"


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_command_queues_a_job_and_says_how_to_watch_it(namespace: Namespace) -> None:
    data = command("reflect", "desk", "--full")
    job = Job.objects.get()
    assert (job.kind, job.params, job.by) == (JobKind.REFLECT, {"full": True}, "command line")
    assert data == f"Queued as job {job.id} for a worker; its progress is at /api/v1/desk/jobs/{job.id}/\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["reflect", "boats"], r"There is no namespace boats: choose an existing one \(desk\)"),
        (["reembed", "desk"], "required: --embedder"),
        (["reembed", "desk", "--embedder", "word2vec"], "--embedder must be one of all-MiniLM-L6-v2"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(namespace: Namespace, arguments: list[str], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        command(*arguments)
    assert not Job.objects.exists()


def command_apart(*arguments: str) -> str:
    """Run a command in a separate thread: the browser tests have an event loop in the main one."""

    def run() -> str:
        try:
            return command(*arguments)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


@pytest.mark.django_db(transaction=True)
def test_a_command_can_do_its_job_here_and_now(namespace: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(namespace, [NewMemory(content="Plays the cello")], by="tests")
    monkeypatch.setattr("memories.writing.rebuild.GRACE_PERIOD", timedelta(0))
    data = command_apart("reembed", "desk", "--embedder", "all-MiniLM-L6-v2", "--now")
    assert data == "embed: embedded 1\nindex: nothing to do\nswitch: embedded 0, without_text 0\nclear: cleared 1\n"
    assert Job.objects.get().state == JobState.DONE
    assert MemoryVector.objects.get().embedder == Namespace.objects.get().embedder == "all-MiniLM-L6-v2"


@pytest.mark.django_db(transaction=True)
def test_a_command_whose_job_fails_says_why_and_leaves_the_rest_to_a_worker(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(work: Work) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("memories.maintenance.reflect.STEPS", {"only": broken})
    with pytest.raises(CommandError, match=r"is not done \(OSError: the disk is full\); a worker will resume it"):
        command_apart("reflect", "desk", "--now")
    assert (Job.objects.get().state, Job.objects.get().attempts) == (JobState.QUEUED, 1)
