"""Background jobs: started once, resumed, retried, given up, never done twice."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from memories.contracts.new_memory import NewMemory
from memories.contracts.work import StaleAttemptError, Step, Work, WorkerStoppedError
from memories.jobs import registry
from memories.jobs.attempt import MAX_ATTEMPTS, RetryLaterError, run_job
from memories.jobs.job_queue import QUEUE, REVIVE_SQL, connector
from memories.jobs.scheduled import start_due_reflections
from memories.jobs.submission import BusyError, submit_job
from memories.jobs.tasks import RetryUntilFinished
from memories.models import Entity, Job, Namespace
from memories.models.choices import JobKind, JobState
from memories.providers.embedder import EmbedderError
from memories.writing.remember import remember

pytestmark = pytest.mark.django_db

Steps = Callable[..., None]


@pytest.fixture
def namespace() -> Namespace:
    """A namespace beside an empty queue: a world that outlives its tests may have asked for work."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    return Namespace.objects.create(slug="desk", title="A desk", embedder="wordllama-256")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Let reflecting consist of given steps."""

    def set_steps(**made: Step) -> None:
        monkeypatch.setattr("memories.maintenance.reflect.STEPS", made)

    return set_steps


def make_entities(count: int, *, stop_at: int | None = None, error: Exception | None = None) -> Step:
    """A step that makes entities one by one, each with the record in one transaction, and may break once."""

    def step(work: Work) -> None:
        for number in range(work.job.done, count):
            with transaction.atomic():
                name = f"{work.job.step} {number}"
                Entity.objects.create(namespace=work.namespace, name=name, normalised=name)
                work.record_progress(number + 1, count, made=1)
                if number == stop_at and work.job.attempts == 1 and error:
                    raise error

    return step


def start_reflect(namespace: Namespace, **params: Any) -> Job:
    return submit_job(namespace, JobKind.REFLECT, params, by="tests")


def reload(job: Job) -> Job:
    return Job.objects.get(id=job.id)


def names() -> list[str]:
    return list(Entity.objects.order_by("name").values_list("name", flat=True))


def test_a_job_goes_through_its_steps_in_order_and_keeps_what_they_found(namespace: Namespace, steps: Steps) -> None:
    steps(first=make_entities(2), second=make_entities(1))
    job = start_reflect(namespace)
    run_job(namespace.id, job.id)
    done = reload(job)
    assert names() == ["first 0", "first 1", "second 0"]
    assert (done.state, done.step, done.done, done.total) == (JobState.DONE, "second", 1, 1)
    assert done.result == {"first": {"made": 2}, "second": {"made": 1}}
    assert (done.attempts, done.error, registry.job_completion(done)) == (1, "", 1.0)
    assert done.started_at
    assert done.finished_at
    run_job(namespace.id, job.id)
    assert reload(job).attempts == 1


def test_a_job_and_its_place_in_the_queue_are_made_together_or_not_at_all(namespace: Namespace) -> None:
    with transaction.atomic():
        start_reflect(namespace)
        transaction.set_rollback(True)
    assert not Job.objects.exists()
    assert not ProcrastinateJob.objects.exists()
    job = start_reflect(namespace)
    place = ProcrastinateJob.objects.get()
    assert place.args == {"namespace": str(namespace.id), "job": str(job.id)}
    assert (place.queue_name, place.status, place.lock) == (QUEUE, "todo", str(namespace.id))


def test_a_kind_that_waits_or_runs_is_given_back_instead_of_a_second(namespace: Namespace, steps: Steps) -> None:
    steps(only=make_entities(1))
    first = start_reflect(namespace)
    assert start_reflect(namespace).id == first.id
    with pytest.raises(BusyError, match=f"The job {first.id} .reflect. is queued with other parameters"):
        start_reflect(namespace, full=True)
    assert ProcrastinateJob.objects.count() == 1
    elsewhere = Namespace.objects.create(slug="elsewhere", title="Elsewhere")
    assert start_reflect(elsewhere).id != first.id
    run_job(namespace.id, first.id)
    assert start_reflect(namespace).id != first.id


def test_a_job_that_lost_its_place_gets_a_new_one_when_it_is_asked_for(namespace: Namespace) -> None:
    job = start_reflect(namespace)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    assert start_reflect(namespace).id == job.id
    assert ProcrastinateJob.objects.get().args["job"] == str(job.id)


def test_a_failed_attempt_is_taken_up_at_its_step_and_repeats_no_piece(namespace: Namespace, steps: Steps) -> None:
    steps(first=make_entities(2), second=make_entities(3, stop_at=1, error=ValueError("Maya's secret")))
    job = start_reflect(namespace)
    with pytest.raises(RetryLaterError) as failure:
        run_job(namespace.id, job.id)
    waiting = reload(job)
    assert failure.value.wait == 4
    assert (waiting.state, waiting.step, waiting.done, waiting.attempts) == (JobState.QUEUED, "second", 1, 1)
    assert waiting.error.startswith("ValueError in step, test_queue.py line ")
    assert registry.job_completion(waiting) == pytest.approx((1 + 1 / 3) / 2)
    run_job(namespace.id, job.id)
    done = reload(job)
    assert names() == ["first 0", "first 1", "second 0", "second 1", "second 2"]
    assert (done.state, done.attempts, done.error) == (JobState.DONE, 2, "")
    assert done.result == {"first": {"made": 2}, "second": {"made": 3}}
    assert done.started_at == waiting.started_at


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (EmbedderError("The weights are missing."), "EmbedderError: The weights are missing."),
        (OperationalError("connection\nlost"), "OperationalError: connection lost"),
        (KeyError("what Maya said"), "KeyError in broken, test_queue.py line "),
    ],
)
def test_a_job_is_given_up_after_five_attempts_and_says_why_but_quotes_nobody(
    namespace: Namespace, steps: Steps, error: Exception, told: str
) -> None:
    def broken(work: Work) -> None:
        raise error

    steps(only=broken)
    job = start_reflect(namespace)
    waits = []
    for _ in range(MAX_ATTEMPTS - 1):
        with pytest.raises(RetryLaterError) as failure:
            run_job(namespace.id, job.id)
        waits.append(failure.value.wait)
    run_job(namespace.id, job.id)
    failed = reload(job)
    assert waits == [4, 16, 64, 256]
    assert (failed.state, failed.attempts) == (JobState.FAILED, MAX_ATTEMPTS)
    assert failed.error.startswith(told)
    assert "Maya" not in failed.error
    assert failed.finished_at
    assert start_reflect(namespace).id != job.id


def test_a_job_that_kills_its_worker_every_time_is_given_up_too(namespace: Namespace, steps: Steps) -> None:
    steps(only=make_entities(1))
    job = start_reflect(namespace)
    Job.objects.update(state=JobState.RUNNING, attempts=MAX_ATTEMPTS)
    run_job(namespace.id, job.id)
    assert (reload(job).state, reload(job).error) == (JobState.FAILED, f"Its worker died {MAX_ATTEMPTS} times.")
    assert names() == []


def test_an_attempt_that_was_taken_for_dead_writes_nothing_more(namespace: Namespace, steps: Steps) -> None:
    def sleepy(work: Work) -> None:
        if work.job.attempts == 1:
            run_job(namespace.id, work.job.id)  # the other worker, while this one sleeps
        make_entities(2)(work)

    steps(only=sleepy)
    job = start_reflect(namespace)
    run_job(namespace.id, job.id)
    assert names() == ["only 0", "only 1"]
    assert (reload(job).state, reload(job).result) == (JobState.DONE, {"only": {"made": 2}})


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_stops_keeps_its_last_piece_and_hands_the_job_back_without_blame(
    namespace: Namespace, steps: Steps
) -> None:
    def stopping(job: Job) -> None:
        if job.done:
            raise WorkerStoppedError

    steps(only=make_entities(2))
    job = start_reflect(namespace)
    with pytest.raises(WorkerStoppedError):
        run_job(namespace.id, job.id, stopping)
    assert names() == ["only 0"]
    assert (reload(job).state, reload(job).done, reload(job).attempts) == (JobState.QUEUED, 1, 0)
    run_job(namespace.id, job.id)
    assert names() == ["only 0", "only 1"]


def test_what_ended_a_task_decides_when_it_comes_again() -> None:
    place: Any = type("Place", (), {"attempts": 2})()
    for error, seconds in [(WorkerStoppedError(), 0), (RetryLaterError(16), 16), (OperationalError(), 64)]:
        decision = RetryUntilFinished().get_retry_decision(exception=error, job=place)
        assert decision.retry_at
        assert abs(decision.retry_at - timezone.now() - timedelta(seconds=seconds)) < timedelta(seconds=5)
        assert decision.queue == QUEUE


def test_the_task_of_a_namespace_that_is_gone_ends_quietly(namespace: Namespace, steps: Steps) -> None:
    def unmade(work: Work) -> None:
        Namespace.objects.all().delete()
        work.record_progress(1)

    steps(only=unmade)
    job = start_reflect(namespace)
    run_job(namespace.id, job.id)
    run_job(namespace.id, job.id)
    assert not Job.objects.exists()


def test_a_record_that_another_attempt_has_is_not_written(namespace: Namespace) -> None:
    work = Work(namespace, start_reflect(namespace))
    work.record_progress(1)
    Job.objects.update(run=uuid4())
    with pytest.raises(StaleAttemptError):
        work.record_progress(2)
    assert Job.objects.get().done == 1


def test_the_jobs_of_the_dead_go_back_into_the_queue_and_those_of_the_living_stay(namespace: Namespace) -> None:
    elsewhere = Namespace.objects.create(slug="elsewhere", title="Elsewhere")
    dead, alive = start_reflect(namespace), start_reflect(elsewhere)
    with connection.cursor() as cursor:
        for job, heartbeat in ((dead, "now() - interval '1 hour'"), (alive, "now()")):
            cursor.execute(f"INSERT INTO procrastinate_workers (last_heartbeat) VALUES ({heartbeat}) RETURNING id")
            worker = cursor.fetchone()[0]
            cursor.execute(
                "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s, queue_name = 'jobs mine'"
                " WHERE args ->> 'job' = %s",
                [worker, str(job.id)],
            )
    for found in (1, 0):
        assert len(connector.execute_query_all(REVIVE_SQL, queue=QUEUE, dead=20.0)) == found
    states = {one.args["job"]: (one.status, one.queue_name) for one in ProcrastinateJob.objects.all()}
    assert states == {str(dead.id): ("todo", QUEUE), str(alive.id): ("doing", "jobs mine")}


def test_at_night_every_namespace_that_has_changed_is_reflected_upon(namespace: Namespace, steps: Steps) -> None:
    steps(only=make_entities(0))
    Namespace.objects.create(slug="empty", title="Empty")
    fixed = Namespace.objects.create(slug="fixed", title="Fixed", clock=timezone.now(), embedder="wordllama-256")
    for one in (namespace, fixed):
        remember(one, [NewMemory(content="Plays the cello")], by="tests")
    (job,) = start_due_reflections()
    assert (job.namespace_id, job.kind, job.by) == (namespace.id, JobKind.REFLECT, "schedule")
    assert ProcrastinateJob.objects.get().priority < 0
    run_job(namespace.id, job.id)
    assert start_due_reflections() == []
    remember(namespace, [NewMemory(content="Runs on Sundays")], by="tests")
    (later,) = start_due_reflections()
    assert later.id != job.id
