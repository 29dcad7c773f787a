"""Trace retention: the worker creates the partitions of days to come and drops those past retention."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from procrastinate.contrib.django import app

from memories.db.ids import first_id_at, uuid7
from memories.jobs import tasks
from memories.models import Trace, partitions
from memories.models.partitions import DEFAULT, NAME, ensure_partitions
from recall_site import run
from tests.support.rows import empty_namespace, row
from tests.support.traces import trace_partitions


def leave_trace(namespace: Any, at: datetime | None = None) -> Trace:
    """Leave a trace, now or then."""
    trace: Trace = row(Trace, namespace, id=uuid7() if at is None else first_id_at(at))
    return trace


def day(ago: int) -> str:
    """The partition of a day."""
    return f"{timezone.now() - timedelta(days=ago):{NAME}}"


def unmake(*ago: int) -> None:
    """Take days away that a worker may have made."""
    with connection.cursor() as cursor:
        for one in ago:
            cursor.execute(f"DROP TABLE IF EXISTS {day(one)}")


@pytest.mark.django_db
def test_a_day_past_retention_goes_and_one_within_stays(settings: Any) -> None:
    settings.RECALL_TRACE_DAYS = 7
    here, now = empty_namespace("here"), timezone.now()
    ensure_partitions((now - timedelta(days=9)).date(), 10)
    kept, _, _ = (leave_trace(here, now - timedelta(days=ago)) for ago in (7, 8, 9))
    leave_trace(here, now - timedelta(days=30))  # a day without a partition
    today = leave_trace(here)
    tasks.traces_task(0)
    assert trace_partitions() == {kept.id: day(7), today.id: day(0)}
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s), to_regclass(%s), to_regclass(%s)", [day(8), day(9), day(-2)])
        assert cursor.fetchone() == (None, None, day(-2))
    tasks.traces_task(0)
    assert trace_partitions() == {kept.id: day(7), today.id: day(0)}


@pytest.mark.django_db
def test_a_trace_of_a_day_that_nobody_made_is_kept_and_moves_when_it_is_made() -> None:
    unmake(0)
    trace = leave_trace(empty_namespace("here"))
    assert trace_partitions() == {trace.id: DEFAULT}
    assert Trace.objects.within(trace.namespace).get() == trace
    run.create_trace_partitions()
    assert trace_partitions() == {trace.id: day(0)}


def test_the_queue_looks_after_the_days_by_itself() -> None:
    scheduled = {task.task.name: task.cron for task in app.periodic_registry.periodic_tasks.values()}
    assert scheduled["memories.traces"] == "7 * * * *"


@contextmanager
def reading(table: str) -> Iterator[None]:
    """Let somebody else read a table, and not come to an end."""
    given = connection.get_connection_params()
    given = {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    with psycopg.connect(**given) as other:
        other.execute("SET idle_in_transaction_session_timeout = 10000")
        other.execute(f"SELECT count(*) FROM {table}")
        yield
        other.rollback()


@pytest.mark.django_db(transaction=True)
def test_who_reads_for_long_is_not_queued_behind_and_the_day_goes_later(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RECALL_TRACE_DAYS = 7
    monkeypatch.setattr(partitions, "LOCK_TIMEOUT", "50ms")
    old = (timezone.now() - timedelta(days=9)).date()
    ensure_partitions(old, 1)
    ensure_partitions(timezone.now().date(), 3)
    with reading(day(9)), pytest.raises(OperationalError, match="lock timeout"):
        tasks.traces_task(0)
    unmake(-2)
    with reading(DEFAULT):
        run.create_trace_partitions()  # keeps no site from starting
    tasks.traces_task(0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s), to_regclass(%s)", [day(9), day(-2)])
        assert cursor.fetchone() == (None, day(-2))
    unmake(0, -1, -2)


@pytest.mark.django_db
@pytest.mark.parametrize("days", [1, 20_000])
def test_every_allowed_retention_can_be_kept(settings: Any, days: int) -> None:
    settings.RECALL_TRACE_DAYS = days
    today = leave_trace(empty_namespace("here"))
    tasks.traces_task(0)
    assert trace_partitions() == {today.id: day(0)}
