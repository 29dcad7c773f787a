"""The Python client against the live server, and against servers that are unreachable, slow or busy."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from pytest_django.live_server_helper import LiveServer

from memories.client import Recall
from memories.client.transport import RecallError
from memories.jobs.attempt import run_job
from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Role
from tests.support.access import key_to
from tests.support.rows import empty_namespace

Reply = tuple[int, dict[str, str], str]
PROBLEM = {"status": 503, "title": "", "code": "away", "detail": "Away.", "errors": [], "request_id": "r"}
BUSY: Reply = (429, {"Retry-After": "1"}, json.dumps(PROBLEM | {"code": "throttled"}))
AWAY: Reply = (503, {}, json.dumps(PROBLEM))
FINE: Reply = (200, {"Content-Type": "application/json"}, '{"results": []}')


def make_client(live_server: LiveServer, role: Role = Role.WRITE) -> Recall:
    """A client with a key for a new namespace."""
    key = key_to(empty_namespace("here"), role)["Authorization"].removeprefix("Bearer ")
    return Recall(live_server.url, "here", key)


@pytest.fixture
def recall(live_server: LiveServer) -> Recall:
    return make_client(live_server)


def test_the_client_needs_nothing_of_django() -> None:
    script = "import sys, memories.client; print([one for one in sys.modules if one.startswith(('django', 'rest_'))])"
    completed = subprocess.run(
        [sys.executable, "-c", script], cwd=settings.ROOT, capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "[]"


def test_what_is_remembered_comes_back_as_data_and_as_a_block_that_quotes_it(recall: Recall) -> None:
    stored = recall.remember("Maya plays the cello", type="Fact", tags=["music"], source_level="direct")
    assert stored["outcome"] == "stored"
    answer = recall.retrieve("Which instrument does Maya play?", session="monday", explain="full")
    assert [one["id"] for one in answer["results"]] == [stored["memory"]["id"]]
    block = recall.retrieve("Which instrument does Maya play?", format="markdown", token_budget=200)
    assert '- "Maya plays the cello" (confidence' in block


def test_datetimes_and_uuids_are_accepted(recall: Recall) -> None:
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    memory = recall.remember("The permit was renewed", source_level="direct", event_at=at)["memory"]
    assert Memory.objects.get(id=memory["id"]).event_at == at
    assert recall.confirm(UUID(memory["id"]))["memory"]["id"] == memory["id"]


def test_every_act_reaches_the_memory_it_names(recall: Recall) -> None:
    first = recall.remember("The office is in Malmö", source_level="weak_inference")["memory"]
    assert recall.confirm(first["id"])["memory"]["confidence"] > first["confidence"]
    assert recall.feedback(first["id"], useful=True)["memory"]["useful"] == 1  # type: ignore[typeddict-item]
    corrected = recall.correct(first["id"], "The office is in Lund")
    assert (corrected["outcome"], corrected["corrected"]["status"]) == ("stored", "superseded")
    recall.forget(corrected["memory"]["id"])
    assert Memory.objects.get(id=corrected["memory"]["id"]).status == "forgotten"


def test_a_batch_a_dry_run_and_a_conversation_return_one_outcome_each(recall: Recall) -> None:
    results = recall.remember_batch([{"content": "Alma sings"}, {"content": ""}])
    assert [one["outcome"] for one in results] == ["stored", "refused"]
    assert recall.remember("Alma dances", dry_run=True)["outcome"] == "stored"
    assert Memory.objects.count() == 1
    ingested = recall.turns("tuesday", [{"role": "user", "text": "I moved to Oslo in May."}], user="maya")
    assert len(ingested["turns"]) == 1


def test_a_query_is_compared_replayed_and_diagnosed(recall: Recall) -> None:
    memory = recall.remember("Maya plays the cello", source_level="direct")["memory"]
    assert set(recall.compare("cello")["answers"]) >= {"recall", "blend"}
    trace = recall.retrieve("cello", record=False)["trace"]
    assert trace is not None
    assert recall.replay(trace)["replayed"]
    assert recall.why_not("cello", memory["id"])["rank"] == 1


def test_traces_are_iterated_newest_first(recall: Recall) -> None:
    recall.remember("Maya plays the cello", source_level="direct")
    for query in ("cello", "Which oven?", "Which cello?"):
        recall.retrieve(query, record=False, system="recall")
    began = datetime.now(UTC) - timedelta(minutes=5)
    traces = recall.traces(limit=1, since=began, q="cello", abstained=False, best_below=1000.5)
    assert [(one["query"], one["results"]) for one in traces] == [("Which cello?", 1), ("cello", 1)]
    assert list(recall.traces(until=began)) == []


def test_a_configuration_is_evaluated_saved_checked_published_and_rolled_back(live_server: LiveServer) -> None:
    recall = make_client(live_server, Role.ADMIN)
    here = Namespace.objects.get(slug="here")
    known = Memory.objects.get(id=recall.remember("Maya plays the cello", source_level="direct")["memory"]["id"])
    judgement_set = JudgementSet.objects.create(namespace=here, name="music")
    for number, split in enumerate(("tune", "holdout")):
        query = JudgedQuery.objects.create(
            namespace=here, judgement_set=judgement_set, text=f"cello {number}", kind="answerable", split=split
        )
        Judgement.objects.create(namespace=here, query=query, memory=known, grade=3)
    job = recall.measure(system="recall")
    assert "state" in job
    run_job(here.id, UUID(job["id"]))
    assert recall.job(job["id"])["state"] == "done"
    evaluation = recall.measure(system="recall", params={"rrf_k": 20.0}, against={"system": "recall"}, split="tune")
    assert "metrics" in evaluation
    assert evaluation["metrics"]["ndcg@10"]["queries"] == 1
    assert [one["id"] for one in recall.evaluations(limit=1)] == [evaluation["evaluation"]]
    curves = recall.sensitivity(system="recall", param="rrf_k")
    assert [one["name"] for one in curves["curves"]] == ["rrf_k"]
    assert recall.ablation(system="recall")["queries"] == 2
    search = recall.optimise(system="recall", move=["rrf_k"], max_trials=2, seconds=1)
    assert recall.stop(search["id"])["kind"] == "optimise"
    version = recall.save_profile("music", "recall", {"rrf_k": 20.0})
    assert recall.check_profile(version["id"])["kind"] == "gate"
    assert recall.publish_profile(version["id"], override="a test")["profile_version"] == version["id"]
    assert [one["serving"] for one in recall.profiles()["results"]] == [True]
    assert recall.roll_back()["profile_version"] is None


def test_a_refusal_says_what_is_wrong_and_where(recall: Recall) -> None:
    with pytest.raises(RecallError) as raised:
        recall.retrieve("cello", top_k=0)
    error = raised.value
    assert (error.status, error.code) == (400, "bad_request")
    assert error.errors == [{"at": "top_k", "message": "must be at least 1; got 0"}]
    assert error.request_id
    assert str(error) == "top_k: must be at least 1; got 0 (bad_request)"


def test_a_key_without_the_role_gets_an_error(live_server: LiveServer) -> None:
    with pytest.raises(RecallError, match=r"This needs the role write") as raised:
        make_client(live_server, Role.READ).remember("Alma sings")
    assert (raised.value.status, raised.value.code) == (403, "permission_denied")


@contextmanager
def replying_server(*replies: Reply | None) -> Iterator[tuple[Recall, list[Any]]]:
    """A client of a server that sends these replies in order; None closes the connection instead."""
    left, seen = iter(replies), []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.headers.get("Idempotency-Key"))
            reply = next(left)
            if reply is None:
                return
            status, headers, body = reply
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_DELETE = answer  # noqa: N815

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Recall(f"http://127.0.0.1:{server.server_port}", "here", "rk_x", attempts=3, patience=5), seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


Call = Callable[[Recall], object]


def remember(recall: Recall) -> object:
    return recall.remember("Alma sings")


@pytest.mark.parametrize(
    "missed", [None, AWAY, (502, {}, "<html>"), (409, {}, json.dumps(PROBLEM | {"code": "still_running"}))]
)
def test_a_write_is_retried_under_the_same_key(missed: Reply | None) -> None:
    with replying_server(missed, missed, FINE) as (recall, seen):
        assert remember(recall) == {"results": []}
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert seen[0]


def test_two_writes_have_two_keys() -> None:
    with replying_server(FINE, FINE) as (recall, seen):
        remember(recall)
        remember(recall)
    assert len(set(seen)) == 2


@pytest.mark.parametrize(
    ("call", "attempts"),
    [
        (lambda recall: recall.retrieve("x"), 1),
        (lambda recall: recall.retrieve("x", record=False), 2),
        (lambda recall: recall.retrieve("x", session="monday"), 2),
        (lambda recall: recall.compare("x"), 2),
        (lambda recall: recall.forget("x"), 2),
    ],
    ids=["an access would count twice", "no access", "an access counts once per session", "read", "write"],
)
def test_what_would_count_twice_is_not_retried(call: Call, attempts: int) -> None:
    with replying_server(AWAY, FINE) as (recall, seen):
        if attempts == 1:
            with pytest.raises(RecallError, match=r"Away\."):
                call(recall)
        else:
            call(recall)
    assert len(seen) == attempts


def test_retry_after_is_respected() -> None:
    began = datetime.now(UTC)
    with replying_server(BUSY, FINE) as (recall, _):
        recall.retrieve("x")
    assert 1 <= (datetime.now(UTC) - began).total_seconds() < 4


def test_a_retry_after_longer_than_patience_fails_at_once() -> None:
    with (
        replying_server((429, {"Retry-After": "60"}, BUSY[2]), FINE) as (recall, seen),
        pytest.raises(RecallError) as raised,
    ):
        recall.retrieve("x")
    assert raised.value.retry_after == 60
    assert len(seen) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 500])
def test_a_refusal_is_final(status: int) -> None:
    with replying_server((status, {}, json.dumps(PROBLEM)), FINE) as (recall, seen), pytest.raises(RecallError):
        remember(recall)
    assert len(seen) == 1


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with replying_server(FINE) as (other, stolen), replying_server((302, {"Location": other.url}, "")) as (recall, _):
        with pytest.raises(RecallError, match=r"answers 302"):
            remember(recall)
        assert stolen == []


def test_an_unreachable_site_is_named() -> None:
    with pytest.raises(RecallError, match=r"does not answer") as raised:
        Recall("http://127.0.0.1:9", "here", "rk_x", attempts=1).compare("x")
    assert (raised.value.status, raised.value.code) == (0, "unreachable")
    with pytest.raises(ValueError, match=r"must begin with http"):
        Recall("recall.example.com", "here", "rk_x")
