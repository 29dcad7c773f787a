"""`/metrics`: the same numbers from every process, for whoever may read them; no stored text."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.conf import settings as site
from django.db import DatabaseError, connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from memories.client import Recall
from memories.client.transport import RecallError
from tests.support.problems import problem
from tests.support.site import Site, bare_environment, copy_data

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("start")]
RATE = 60


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Every number under its name and labels."""
    families = text_string_to_metric_families(text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


class Running:
    """A site of two processes, and a namespace with a key in it."""

    def __init__(self, data: Path) -> None:
        chosen = {"RECALL_DEMO": "off", "RECALL_WORKER": "off", "RECALL_METRICS_TOKEN": "secret"}
        self.site = Site(data, WORKERS=2, RECALL_RATE=f"{RATE}/hour", **chosen).wait_until_up()
        self.manage("create_namespace", "zirkon")
        self.url = f"http://127.0.0.1:{self.site.port}"

    def manage(self, *command: str) -> str:
        env = bare_environment(RECALL_DATA=self.site.data, RECALL_EMBEDDER="wordllama-256")
        run = [sys.executable, "manage.py", *command]
        return subprocess.run(run, cwd=site.ROOT, env=env, capture_output=True, text=True, check=True).stdout.strip()

    def client(self) -> Recall:
        return Recall(self.url, "zirkon", self.manage("create_key", "zirkon", "--role", "write"), attempts=1)

    def metrics(self) -> str:
        with urlopen(Request(f"{self.url}/metrics", headers={"Authorization": "Bearer secret"}), timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            return str(answer.read().decode())


@pytest.fixture(scope="module")
def running(empty_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(copy_data(empty_data, tmp_path_factory.mktemp("metrics") / "data"))
    yield made
    assert made.site.stop() == 0


def test_what_two_processes_have_done_is_reported_by_either(running: Running) -> None:
    recall = running.client()
    stored = [recall.remember(f"The xylophone {word} is blue")["outcome"] for word in ("here", "there")]
    recall.remember("Not kept", dry_run=True)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: recall.retrieve("xylophone", system="recall"), range(20)))
    empty = recall.retrieve("xylophone", system="blend", types=["Event"])
    assert empty["abstained"]
    told = [samples(running.metrics()) for _ in range(10)]
    first = told[0]
    assert all(one["recall_retrievals_total", "recall"] == 20 for one in told)
    assert first["recall_abstentions_total", "blend"] == 1
    assert first["recall_requests_total", "POST", "api-retrieve", "200"] == 21
    assert first["recall_request_seconds_count", "POST", "api-retrieve"] == 21
    assert sum(first["recall_memories_total", outcome] for outcome in set(stored)) == 2
    for stage in answers[0]["took_ms"]:
        assert first["recall_retrieval_stage_seconds_count", stage, "recall"] == 20
    assert first["recall_retriever_seconds_count", "semantic"] >= 20
    assert first["recall_embedding_seconds_count", "wordllama-256"] >= 24
    assert first["recall_database_up",] == 1
    assert first["recall_queue_jobs", "todo"] >= 0


def test_metrics_hold_nothing_that_anybody_wrote(running: Running) -> None:
    recall = running.client()
    recall.remember("The quokka sleeps", user="wombat", session="numbat", tags=["possum"])
    recall.retrieve("quokka", user="wombat", session="numbat")
    with pytest.raises(RecallError):
        Recall(running.url, "bilby", "rk_x", attempts=1).compare("quokka")
    with pytest.raises(HTTPError) as raised:
        urlopen(Request(f"{running.url}/api/v1/dingo/koala/", method="EMU"), timeout=10)
    raised.value.close()
    told = running.metrics()
    for word in ("zirkon", "quokka", "wombat", "numbat", "possum", "bilby", "dingo", "koala", "EMU", "rk_"):
        assert word not in told
    assert 'method="other"' in told


def test_a_key_over_its_rate_limit_gets_429_whichever_process_answers(running: Running) -> None:
    recall = running.client()

    def compare(_: int) -> int:
        try:
            recall.compare("xylophone")
        except RecallError as error:
            return error.status
        return 200

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(compare, range(RATE + 15)))
    assert set(statuses) == {200, 429}
    assert RATE // 2 <= statuses.count(200) <= RATE


def test_with_a_token_only_its_bearer_reads(client: Client, settings: Any) -> None:
    settings.RECALL_METRICS_TOKEN = "secret"
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": "secret"}):
        response = client.get("/metrics", headers=headers)
        assert problem(response, 401)["code"] == "unauthorized"
        assert response["WWW-Authenticate"] == 'Bearer realm="metrics"'
    assert client.get("/metrics", headers={"Authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("10.0.0.5", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "10.0.0.5"}, 403),
        ("", {}, 403),
    ],
)
def test_without_a_token_only_this_machine_reads(
    client: Client, address: str, headers: dict[str, str], status: int
) -> None:
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


def test_an_unreachable_database_is_reported_and_hides_nothing_else(client: Client) -> None:
    client.get("/health/live")

    def away(*args: Any) -> Any:
        raise DatabaseError("away")

    with connection.execute_wrapper(away):
        told = samples(client.get("/metrics").content.decode())
    assert told["recall_database_up",] == 0
    assert told["recall_requests_total", "GET", "live", "200"] >= 1
