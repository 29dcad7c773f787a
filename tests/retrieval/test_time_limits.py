"""A retriever that times out or fails is left out and named, and the others answer."""

import json
import time
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from memories.db.pipeline import Statement
from memories.models import Memory, Namespace
from memories.retrieval import fetch as fetching
from memories.retrieval import retrieve as retrieving
from memories.retrieval.parse import understand
from memories.retrieval.query import Filters
from memories.retrieval.retrieve import retrieve
from memories.retrieval.retrievers import RETRIEVERS
from scoring.specificity import Plan
from tests.support.access import key_to
from tests.support.concurrency import lock_table
from tests.support.retrieval_world import make_query, store_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("retrieval")]
QUERY = "What did Maya say about the database two months ago?"
LIMIT = 150  # milliseconds
SLOW = "SELECT NULL::uuid, length(pg_sleep(5)::text)::float8"
ALL = {"semantic", "bm25", "entity", "temporal", "traversal"}


@pytest.fixture
def world(settings: Any) -> Namespace:
    """The world, with little time for each retriever."""
    settings.RECALL_RETRIEVER_MS = LIMIT
    return store_world("asked")


def post(world: Namespace, **body: Any) -> Any:
    """Retrieve over REST."""
    headers = key_to(world, "read")  # type: ignore[arg-type]
    client = Client(raise_request_exception=False)
    address = f"/api/v1/{world.slug}/retrieve/"
    return client.post(
        address, json.dumps({"query": QUERY, "system": "recall", **body}), "application/json", headers=headers
    )


def test_a_retriever_whose_table_is_locked_times_out_and_the_others_answer(world: Namespace) -> None:
    retrieve(make_query(world, QUERY))
    with lock_table("memories_entityedge"):
        began = time.monotonic()
        response = post(world)
        took = time.monotonic() - began
    assert response.status_code == 200, response.content
    answer = response.json()
    assert answer["timed_out"] == [{"retriever": "traversal", "reason": f"took longer than {LIMIT} ms"}]
    assert {route for one in answer["results"] for route in one["retrievers"]} == ALL - {"traversal"}
    assert LIMIT / 1000 <= took < LIMIT / 1000 + 2


def test_a_retriever_that_times_out_takes_no_more_than_its_own_budget(world: Namespace) -> None:
    retrieve(make_query(world, QUERY))
    with lock_table("memories_entityedge"):
        retrieval = retrieve(make_query(world, QUERY))
    assert LIMIT <= retrieval.fetched.took_ms["traversal"] < LIMIT + 500
    assert set(retrieval.fetched.lists) == ALL - {"traversal"}


def test_the_time_of_those_before_it_is_not_its_own(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = f"(SELECT pg_sleep({0.5 * LIMIT / 1000})::text AS said OFFSET 0) AS slept WHERE said <> ''"
    broken("semantic", f"SELECT gen_random_uuid(), 0.5::float8 FROM {slept}", monkeypatch)
    broken("temporal", SLOW, monkeypatch)
    retrieval = retrieve(make_query(world, QUERY))
    assert list(retrieval.fetched.timed_out) == ["temporal"]
    assert 0.5 * LIMIT <= retrieval.fetched.took_ms["semantic"] <= LIMIT
    assert LIMIT <= retrieval.fetched.took_ms["temporal"] < LIMIT + 500


def test_locked_postings_delay_nobody_else(world: Namespace) -> None:
    retrieve(make_query(world, QUERY))
    with lock_table("memories_posting"):
        began = time.monotonic()
        retrieval = retrieve(make_query(world, QUERY))
        took = time.monotonic() - began
    assert set(retrieval.fetched.timed_out) == {"bm25"}
    assert took < 2


def broken(route: str, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a retriever send another statement; what is no SELECT goes as it is."""
    as_arrays = fetching.as_arrays
    monkeypatch.setattr(
        fetching, "as_arrays", lambda one: as_arrays(one) if one.sql.lstrip().startswith(("SELECT", "WITH")) else one
    )
    monkeypatch.setattr(retrieving, "RETRIEVERS", {**retrieving.RETRIEVERS, route: lambda context: Statement(sql)})


@pytest.mark.parametrize(
    ("route", "sql", "reason"),
    [
        ("semantic", "SELECT 1 / 0, 1", "division by zero"),
        ("bm25", "SELECT id, 1 FROM memories_nothing", 'relation "memories_nothing" does not exist'),
        ("traversal", "SELEKT", 'syntax error at or near "SELEKT"'),
    ],
)
def test_a_retriever_that_the_database_refuses_is_named_and_the_others_answer(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, route: str, sql: str, reason: str
) -> None:
    broken(route, sql, monkeypatch)
    response = post(world)
    assert response.status_code == 200, response.content
    answer = response.json()
    assert answer["timed_out"] == [{"retriever": route, "reason": f"failed: {reason}"}]
    assert {route for one in answer["results"] for route in one["retrievers"]} == ALL - {route}


RAISED = "DO $$ BEGIN RAISE EXCEPTION '{}' USING ERRCODE = '{}'; END $$"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("53200", "out of memory"),
        ("53100", "the disk is full"),
        ("53400", "temporary file size exceeds its limit"),
        ("55P03", "a lock is not available"),
    ],
)
def test_a_retriever_that_lacks_what_it_needs_is_named_and_the_others_answer(
    world: Namespace, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    broken("temporal", RAISED.format(reason, code), monkeypatch)
    retrieval = retrieve(make_query(world, QUERY))
    assert retrieval.fetched.timed_out == {"temporal": f"failed: {reason}"}
    assert set(retrieval.fetched.lists) == ALL - {"temporal"}


def test_a_slow_statement_is_cancelled(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    broken("temporal", SLOW, monkeypatch)
    retrieval = retrieve(make_query(world, QUERY))
    assert retrieval.fetched.timed_out == {"temporal": f"took longer than {LIMIT} ms"}
    assert retrieval.fetched.took_ms["temporal"] < LIMIT + 500


def test_the_limit_holds_for_retrievers_alone(world: Namespace) -> None:
    retrieve(make_query(world, QUERY))
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)
        cursor.execute("SHOW hnsw.ef_search")
        assert cursor.fetchone() == ("40",)


def test_where_every_retriever_timed_out_the_answer_says_so(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = {route: lambda context: Statement(SLOW) for route in RETRIEVERS}
    monkeypatch.setattr(retrieving, "RETRIEVERS", slow)
    answer = post(world).json()
    assert {one["retriever"] for one in answer["timed_out"]} == ALL
    assert answer["abstained"]
    assert answer["reason"].startswith("No retriever found anything (")
    assert "timed out or failed" in answer["reason"]


def test_what_a_timed_out_retriever_would_have_found_is_no_access(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {route: lambda context: Statement(SLOW) for route in RETRIEVERS}
    before = sorted(Memory.objects.within(world).values_list("access_count", flat=True))
    monkeypatch.setattr(retrieving, "RETRIEVERS", slow)
    assert post(world).json().get("results", []) == []
    assert sorted(Memory.objects.within(world).values_list("access_count", flat=True)) == before


def test_when_the_database_goes_away_the_call_fails(world: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    broken("entity", "SELECT NULL::uuid, pg_terminate_backend(pg_backend_pid())::int", monkeypatch)
    response = post(world)
    connection.close()
    assert response.status_code in (500, 503)
    assert response["Content-Type"] == "application/problem+json"
    assert "results" not in response.json()


def test_when_the_database_is_away_from_the_start_the_call_fails(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = key_to(world, "read")  # type: ignore[arg-type]
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    client = Client(raise_request_exception=False)
    response = client.post("/api/v1/asked/retrieve/", json.dumps({"query": QUERY}), "application/json", headers=headers)
    monkeypatch.undo()
    connection.close()
    assert response.status_code in (500, 503)
    assert response["Content-Type"] == "application/problem+json"


def test_several_that_fail_are_each_named_with_their_own_reason(
    world: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken("bm25", "SELECT 1 / 0, 1", monkeypatch)
    broken("temporal", SLOW, monkeypatch)
    retrieval = retrieve(make_query(world, QUERY))
    assert retrieval.fetched.timed_out == {
        "bm25": "failed: division by zero",
        "temporal": f"took longer than {LIMIT} ms",
    }
    assert list(retrieval.fetched.lists) == ["semantic", "entity", "traversal"]


def test_plans_are_generic_unless_a_filter_counts(world: Namespace) -> None:
    for filters, mode in ((Filters(), "force_generic_plan"), (Filters(tags=("routine",)), "auto")):
        query = make_query(world, QUERY, filters=filters)
        context = retrieving.retriever_context(query, understand(query), query.config.params_under(Plan("all")))
        assert retrieving.database_settings(context)["plan_cache_mode"] == mode
