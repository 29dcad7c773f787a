"""Traces are partitioned by day, and dropped a day at a time."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from memories.db.ids import first_id_at
from memories.models import ApiKey, Trace
from memories.models.partitions import drop_partitions, ensure_partitions
from tests.support.rows import empty_namespace, row
from tests.support.traces import trace_partitions

pytestmark = pytest.mark.django_db

FIRST = date(2026, 3, 1)
DAYS = ["memories_trace_2026_03_01", "memories_trace_2026_03_02", "memories_trace_2026_03_03"]


def asked_on(namespace: Any, day: int) -> Trace:
    """Leave a trace at noon of a day of March."""
    trace: Trace = row(Trace, namespace, id=first_id_at(datetime(2026, 3, day, 12, tzinfo=UTC)))
    return trace


def test_partitions_are_made_once() -> None:
    assert ensure_partitions(FIRST, 2) == DAYS[:2]
    assert ensure_partitions(FIRST, 3) == DAYS[2:]
    assert ensure_partitions(FIRST, 3) == []


def test_a_trace_goes_to_its_day_and_others_to_the_default() -> None:
    ensure_partitions(FIRST, 2)
    namespace = empty_namespace("here")
    traces = [asked_on(namespace, day) for day in (1, 2, 3)]
    assert trace_partitions() == {
        trace.id: place for trace, place in zip(traces, [*DAYS[:2], "memories_trace_default"], strict=True)
    }


def test_midnight_begins_the_day() -> None:
    ensure_partitions(FIRST, 2)
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    tick = timedelta(milliseconds=1)
    before, after = (
        row(Trace, empty_namespace(slug), id=first_id_at(at))
        for slug, at in {"b": midnight - tick, "a": midnight}.items()
    )
    assert trace_partitions() == {before.id: DAYS[0], after.id: DAYS[1]}


def test_traces_that_came_before_their_partition_move_into_it() -> None:
    trace = asked_on(empty_namespace("here"), 2)
    assert trace_partitions() == {trace.id: "memories_trace_default"}
    ensure_partitions(FIRST, 3)
    assert trace_partitions() == {trace.id: DAYS[1]}
    assert Trace.objects.within(trace.namespace).get() == trace


def test_old_days_are_dropped_with_what_lay_in_the_default() -> None:
    namespace = empty_namespace("here")
    ensure_partitions(FIRST, 1)
    _, _, kept = (asked_on(namespace, day) for day in (1, 2, 3))
    assert drop_partitions(date(2026, 3, 3)) == DAYS[:1]
    assert trace_partitions() == {kept.id: "memories_trace_default"}
    assert drop_partitions(date(2026, 3, 3)) == []


def test_a_partition_keeps_tenants_apart() -> None:
    ensure_partitions(FIRST, 1)
    foreign = row(ApiKey, empty_namespace("there"))
    with pytest.raises(IntegrityError, match="trace_api_key_fk"):
        row(Trace, empty_namespace("here"), id=first_id_at(datetime(2026, 3, 1, 12, tzinfo=UTC)), api_key_id=foreign.id)


def test_a_query_over_one_day_reads_one_partition() -> None:
    ensure_partitions(FIRST, 3)
    namespace = empty_namespace("here")
    start, end = (first_id_at(datetime(2026, 3, day, tzinfo=UTC)) for day in (2, 3))
    plan = Trace.objects.within(namespace).filter(id__gte=start, id__lt=end).explain()
    assert DAYS[1] in plan
    assert not {DAYS[0], DAYS[2], "memories_trace_default"} & set(plan.split())
