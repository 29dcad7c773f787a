"""Traces are listed newest first, filtered and paginated."""

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries

from memories.db.ids import derived_id
from memories.models import ApiKey, Namespace
from memories.models.choices import Role
from memories.models.partitions import ensure_partitions
from memories.web.trace_filters import filter_traces
from tests.support.access import key_to
from tests.support.problems import problem
from tests.support.rows import empty_namespace
from tests.support.traces import FIRST_TRACE_AT, trace_row

pytestmark = pytest.mark.django_db

FIRST = date(2026, 3, 1)


@pytest.fixture
def namespace() -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def headers(namespace: Namespace) -> dict[str, str]:
    return key_to(namespace, Role.READ)


def list_queries(headers: dict[str, str], **chosen: Any) -> list[str]:
    """The queries of the trace list, in order."""
    response = Client().get("/api/v1/here/traces/", chosen, headers=headers)
    assert response.status_code == 200, response.content
    return [one["query"] for one in response.json()["results"]]


def test_a_row_has_the_query_and_its_outcome(client: Client, namespace: Namespace, headers: dict[str, str]) -> None:
    answer = {"results": [{"id": str(uuid4())}, {"id": str(uuid4())}]}
    stored = trace_row(
        namespace,
        "Which oven?",
        request={"profile": "careful", "version": 3},
        answer=answer,
        results=2,
        best_score=0.75,
        system="recall",
    )
    trace_row(namespace, "Nothing", -1, abstained=True)
    full, empty = client.get("/api/v1/here/traces/", headers=headers).json()["results"]
    assert full == {
        "id": str(stored.id),
        "at": "2026-03-01T09:00:00Z",
        "query": "Which oven?",
        "system": "recall",
        "profile": {"name": "careful", "version": 3},
        "abstained": False,
        "best_score": 0.75,
        "results": 2,
        "took_ms": 5.5,
        "requested_by": "person",
    }
    assert (empty["profile"], empty["best_score"], empty["results"]) == ({"name": None, "version": None}, None, 0)
    assert client.get(f"/api/v1/here/traces/{full['id']}/", headers=headers).json()["query"] == "Which oven?"


def test_pages_go_forth_and_back_over_days_while_traces_come(
    client: Client, namespace: Namespace, headers: dict[str, str]
) -> None:
    ensure_partitions(FIRST, 2)  # the third day lies in the default
    for number in range(7):
        trace_row(namespace, f"q{number}", 10 * number)

    def walk_pages(address: str, way: str) -> list[list[str]]:
        pages, namespace = [], address
        while namespace:
            page = client.get(namespace, headers=headers).json()
            pages.append([one["query"] for one in page["results"]])
            namespace = page[way]
        return pages

    first = client.get("/api/v1/here/traces/?limit=3", headers=headers).json()
    assert first["previous"] is None
    trace_row(namespace, "newer", 100)
    assert walk_pages(first["next"], "next") == [["q3", "q2", "q1"], ["q0"]]
    second = client.get(first["next"], headers=headers).json()
    assert walk_pages(second["previous"], "previous") == [["q6", "q5", "q4"], ["newer"]]
    chosen = client.get("/api/v1/here/traces/?limit=2&q=Q&until=2026-03-03T00:00:00Z", headers=headers).json()
    assert walk_pages(chosen["next"], "next") == [["q1", "q0"]]


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ({}, ["slow", "100% sure?", "empty", "other"]),
        ({"abstained": "true"}, ["empty"]),
        ({"abstained": "0"}, ["slow", "100% sure?", "other"]),
        ({"slower_than": 100}, ["slow"]),
        ({"slower_than": 5}, ["slow", "100% sure?", "empty", "other"]),
        ({"best_below": 0.5}, ["100% sure?"]),
        ({"best_below": "1e3"}, ["slow", "100% sure?", "other"]),
        ({"system": "recall"}, ["other"]),
        ({"q": "% S"}, ["100% sure?"]),
        ({"q": "_"}, []),
        ({"since": "2026-03-01T10:00:00Z"}, ["slow", "100% sure?", "empty"]),
        ({"since": "2026-03-01T10:00:00.000001Z"}, ["slow", "100% sure?"]),
        ({"until": "2026-03-01T11:00:00Z"}, ["empty", "other"]),
        ({"until": "2026-03-01T11:00:00.000001Z"}, ["100% sure?", "empty", "other"]),
        ({"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T23:59:59Z", "abstained": "1"}, ["empty"]),
        ({"until": "1969-01-01T00:00:00Z"}, []),
        ({"since": "9999-01-01T00:00:00Z"}, []),
        ({"requested_by": "agent"}, ["empty"]),
        ({"requested_by": "person"}, ["slow", "100% sure?", "other"]),
        ({"q": "s", "best_below": 0.95, "slower_than": 50}, ["slow"]),
    ],
)
def test_a_list_is_chosen_by_how_it_went(
    namespace: Namespace, headers: dict[str, str], chosen: dict[str, Any], found: list[str]
) -> None:
    trace_row(namespace, "other", 0, system="recall", best_score=0.9)
    trace_row(namespace, "empty", 1, abstained=True, api_key_id=ApiKey.objects.within(namespace).get().id)
    trace_row(namespace, "100% sure?", 2, best_score=0.2)
    trace_row(namespace, "slow", 3, best_score=0.9, took_ms={"parse": 60.0, "retrieve": 70.0})
    trace_row(namespace, "shadowed", 4, shadow=True)
    trace_row(empty_namespace("there"), "foreign", 5)
    assert list_queries(headers, **chosen) == found


@pytest.mark.parametrize(
    ("name", "came"),
    [
        ("best_below", "nan"),
        ("best_below", "1e999"),
        ("best_below", "0,5"),
        ("slower_than", "-1"),
        ("slower_than", "0.5"),
        ("abstained", "maybe"),
        ("system", "best"),
        ("since", "2026-03-01"),
        ("since", "yesterday"),
        ("slow", "1"),
    ],
)
def test_an_invalid_filter_is_refused_at_its_field(headers: dict[str, str], name: str, came: str) -> None:
    data = problem(Client().get("/api/v1/here/traces/", {name: came}, headers=headers), 400)
    assert [error["at"] for error in data["errors"]] == [name]


def test_a_page_takes_one_sql_query_and_does_not_load_the_large_columns(
    client: Client, namespace: Namespace, headers: dict[str, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(5):
        trace_row(namespace, f"q{number}", number)
    client.get("/api/v1/here/", headers=headers)
    for limit in (1, 5):
        # Namespace and key before it.
        with django_assert_num_queries(2) as executed:
            assert len(client.get(f"/api/v1/here/traces/?limit={limit}", headers=headers).json()["results"]) == limit
    chosen = executed[-1]["sql"].partition(" FROM ")[0]
    assert not any(f'"{name}",' in chosen for name in ("signals", "candidates", "plan", "params"))


MANY = """
    INSERT INTO memories_trace (namespace_id, id, at, as_of, query, request, system, params, plan, layout, candidates,
        signals, answer, results, abstained, took_ms, shadow)
    SELECT namespace_id, overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, at, as_of, query, request,
        system, params, plan, layout, candidates, signals, answer, results, abstained, took_ms, shadow
    FROM memories_trace, generate_series(1, 3000) AS n
"""


def plan(rows: Any) -> str:
    """The query plan, as text."""
    text: str = rows.explain()
    return text


def test_the_newest_come_from_the_index_of_every_partition_and_only_of_those_in_range(namespace: Namespace) -> None:
    ensure_partitions(FIRST, 3)
    for day in range(3):
        trace_row(namespace, f"q{day}", 24 * day)
    with connection.cursor() as cursor:
        cursor.execute(MANY)
        cursor.execute("ANALYZE memories_trace")
    days = [f"memories_trace_2026_03_0{day}" for day in (1, 2, 3)]
    newest = plan(filter_traces(namespace, {}).order_by("-id")[:51])
    assert "->  Sort" not in newest
    assert all(f"Index Scan Backward using {day}_pkey" in newest for day in days)
    after = plan(filter_traces(namespace, {}).order_by("-id").filter(id__lt=derived_id(FIRST_TRACE_AT, "x"))[:51])
    assert f"Index Scan Backward using {days[0]}_pkey" in after
    assert not any(day in after for day in days[1:])
    since = plan(filter_traces(namespace, {"since": FIRST_TRACE_AT + timedelta(days=2)}).order_by("-id")[:51])
    assert not any(day in since for day in days[:2])
