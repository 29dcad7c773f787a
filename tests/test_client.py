"""The Python client against the running site, and against servers that are away, slow or busy."""

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
from test_api_walls import key_to
from test_api_walls import world as namespace

from memories.client import Recall, RecallError
from memories.jobs.running import run
from memories.models import JudgedQuery, Judgement, JudgementSet, Memory, Namespace
from memories.models.choices import Role

Reply = tuple[int, dict[str, str], str]
PROBLEM = {"status": 503, "title": "", "code": "away", "detail": "Away.", "errors": [], "request_id": "r"}
BUSY: Reply = (429, {"Retry-After": "1"}, json.dumps(PROBLEM | {"code": "throttled"}))
AWAY: Reply = (503, {}, json.dumps(PROBLEM))
FINE: Reply = (200, {"Content-Type": "application/json"}, '{"results": []}')


def opened(live_server: LiveServer, role: Role = Role.WRITE) -> Recall:
    """A client with a key to a new namespace."""
    key = key_to(namespace("here"), role)["Authorization"].removeprefix("Bearer ")
    return Recall(live_server.url, "here", key)


@pytest.fixture
def recall(live_server: LiveServer) -> Recall:
    return opened(live_server)


def test_the_client_needs_nothing_of_django() -> None:
    script = "import sys, memories.client; print([one for one in sys.modules if one.startswith(('django', 'rest_'))])"
    told = subprocess.run([sys.executable, "-c", script], cwd=settings.ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_what_is_remembered_comes_back_as_data_and_as_a_block_that_quotes_it(recall: Recall) -> None:
    stored = recall.remember("Maya plays the cello", type="Fact", tags=["music"], source_level="direct")
    assert stored["outcome"] == "stored"
    answer = recall.retrieve("Which instrument does Maya play?", session="monday", explain="full")
    assert [one["id"] for one in answer["results"]] == [stored["memory"]["id"]]
    block = recall.retrieve("Which instrument does Maya play?", format="markdown", token_budget=200)
    assert '- "Maya plays the cello" (confidence' in block


def test_moments_and_ids_may_be_given_as_python_has_them(recall: Recall) -> None:
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    kept = recall.remember("The permit was renewed", source_level="direct", event_at=at)["memory"]
    assert Memory.objects.get(id=kept["id"]).event_at == at
    assert recall.confirm(UUID(kept["id"]))["memory"]["id"] == kept["id"]


def test_every_act_reaches_the_memory_it_names(recall: Recall) -> None:
    first = recall.remember("The office is in Malmö", source_level="weak_inference")["memory"]
    assert recall.confirm(first["id"])["memory"]["confidence"] > first["confidence"]
    assert recall.feedback(first["id"], useful=True)["memory"]["useful"] == 1  # type: ignore[typeddict-item]
    corrected = recall.correct(first["id"], "The office is in Lund")
    assert (corrected["outcome"], corrected["corrected"]["status"]) == ("stored", "superseded")
    recall.forget(corrected["memory"]["id"])
    assert Memory.objects.get(id=corrected["memory"]["id"]).status == "forgotten"


def test_a_batch_a_dry_run_and_a_conversation_are_told_of_one_by_one(recall: Recall) -> None:
    told = recall.remember_batch([{"content": "Alma sings"}, {"content": ""}])
    assert [one["outcome"] for one in told] == ["stored", "refused"]
    assert recall.remember("Alma dances", dry_run=True)["outcome"] == "stored"
    assert Memory.objects.count() == 1
    heard = recall.turns("tuesday", [{"role": "user", "text": "I moved to Oslo in May."}], user="maya")
    assert len(heard["turns"]) == 1


def test_an_answer_is_compared_replayed_and_asked_why_not(recall: Recall) -> None:
    kept = recall.remember("Maya plays the cello", source_level="direct")["memory"]
    assert set(recall.compare("cello")["answers"]) >= {"recall", "blend"}
    trace = recall.retrieve("cello", record=False)["trace"]
    assert trace is not None
    assert recall.replay(trace)["replayed"]
    assert recall.why_not("cello", kept["id"])["rank"] == 1


def test_what_was_asked_is_walked_newest_first(recall: Recall) -> None:
    recall.remember("Maya plays the cello", source_level="direct")
    for query in ("cello", "Which oven?", "Which cello?"):
        recall.retrieve(query, record=False, system="recall")
    began = datetime.now(UTC) - timedelta(minutes=5)
    found = recall.traces(limit=1, since=began, q="cello", abstained=False, best_below=1000.5)
    assert [(one["query"], one["results"]) for one in found] == [("Which cello?", 1), ("cello", 1)]
    assert list(recall.traces(until=began)) == []


def test_a_setting_is_measured_kept_checked_published_and_rolled_back(live_server: LiveServer) -> None:
    recall = opened(live_server, Role.ADMIN)
    here = Namespace.objects.get(slug="here")
    known = Memory.objects.get(id=recall.remember("Maya plays the cello", source_level="direct")["memory"]["id"])
    judged = JudgementSet.objects.create(namespace=here, name="music")
    for number, part in enumerate(("tune", "holdout")):
        query = JudgedQuery.objects.create(
            namespace=here, judgement_set=judged, text=f"cello {number}", kind="answerable", part=part
        )
        Judgement.objects.create(namespace=here, query=query, memory=known, grade=3)
    job = recall.measure(system="recall")
    assert "state" in job
    run(here.id, UUID(job["id"]))
    assert recall.job(job["id"])["state"] == "done"
    told = recall.measure(system="recall", params={"rrf_k": 20.0}, against={"system": "recall"}, part="tune")
    assert "metrics" in told
    assert told["metrics"]["ndcg@10"]["queries"] == 1
    assert [one["id"] for one in recall.evaluations(limit=1)] == [told["evaluation"]]
    curves = recall.sensitivity(system="recall", param="rrf_k")
    assert [one["name"] for one in curves["curves"]] == ["rrf_k"]
    assert recall.ablation(system="recall")["queries"] == 2
    search = recall.optimise(system="recall", move=["rrf_k"], settings=2, seconds=1)
    assert recall.stop(search["id"])["kind"] == "optimise"
    kept = recall.keep_profile("music", "recall", {"rrf_k": 20.0})
    assert recall.check_profile(kept["id"])["kind"] == "gate"
    assert recall.publish_profile(kept["id"], override="a test")["profile_version"] == kept["id"]
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


def test_a_key_that_may_not_is_told_so(live_server: LiveServer) -> None:
    with pytest.raises(RecallError, match=r"This needs the role write") as raised:
        opened(live_server, Role.READ).remember("Alma sings")
    assert (raised.value.status, raised.value.code) == (403, "permission_denied")


@contextmanager
def serving(*replies: Reply | None) -> Iterator[tuple[Recall, list[Any]]]:
    """A client of a server that gives these answers one after another; none hangs up instead."""
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
def test_a_write_is_asked_again_under_the_same_key(missed: Reply | None) -> None:
    with serving(missed, missed, FINE) as (recall, seen):
        assert remember(recall) == {"results": []}
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert seen[0]


def test_two_writes_have_two_keys() -> None:
    with serving(FINE, FINE) as (recall, seen):
        remember(recall)
        remember(recall)
    assert len(set(seen)) == 2


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (lambda recall: recall.retrieve("x"), 1),
        (lambda recall: recall.retrieve("x", record=False), 2),
        (lambda recall: recall.retrieve("x", session="monday"), 2),
        (lambda recall: recall.compare("x"), 2),
        (lambda recall: recall.forget("x"), 2),
    ],
    ids=["a use would count twice", "no use", "a use counts once in a session", "read", "a write"],
)
def test_what_would_count_twice_is_not_asked_again(call: Call, asked: int) -> None:
    with serving(AWAY, FINE) as (recall, seen):
        if asked == 1:
            with pytest.raises(RecallError, match=r"Away\."):
                call(recall)
        else:
            call(recall)
    assert len(seen) == asked


def test_a_busy_server_is_given_the_time_it_asks_for() -> None:
    began = datetime.now(UTC)
    with serving(BUSY, FINE) as (recall, _):
        recall.retrieve("x")
    assert 1 <= (datetime.now(UTC) - began).total_seconds() < 4


def test_who_is_asked_to_wait_longer_than_patience_lasts_is_told_at_once() -> None:
    with serving((429, {"Retry-After": "60"}, BUSY[2]), FINE) as (recall, seen), pytest.raises(RecallError) as raised:
        recall.retrieve("x")
    assert raised.value.wait == 60
    assert len(seen) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 500])
def test_a_refusal_is_final(status: int) -> None:
    with serving((status, {}, json.dumps(PROBLEM)), FINE) as (recall, seen), pytest.raises(RecallError):
        remember(recall)
    assert len(seen) == 1


def test_a_key_is_not_carried_elsewhere() -> None:
    with serving(FINE) as (other, stolen), serving((302, {"Location": other.url}, "")) as (recall, _):
        with pytest.raises(RecallError, match=r"answers 302"):
            remember(recall)
        assert stolen == []


def test_a_site_that_is_away_or_too_slow_is_named() -> None:
    with pytest.raises(RecallError, match=r"does not answer") as raised:
        Recall("http://127.0.0.1:9", "here", "rk_x", attempts=1).compare("x")
    assert (raised.value.status, raised.value.code) == (0, "unreachable")
    with pytest.raises(ValueError, match=r"must begin with http"):
        Recall("recall.example.com", "here", "rk_x")
