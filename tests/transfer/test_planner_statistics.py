"""An import of many rows runs ANALYZE, one of few does not."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memories.demo import loader
from memories.models import Memory, Posting
from memories.transfer import planner_statistics
from tests.support.access import key_to
from tests.support.concurrency import lock_table
from tests.support.transfer import fast_namespace, write_lines

pytestmark = pytest.mark.django_db
LINES = [{"content": f"The {word} stands in the hall"} for word in ("piano", "ladder", "mirror", "bicycle")]


def count_analyze(asked: CaptureQueriesContext) -> int:
    """How often the planner was told to look."""
    return sum(query["sql"].startswith("ANALYZE (SKIP_LOCKED) memories_") for query in asked)


def analyzed_tables() -> set[str]:
    """The tables that the planner knows something of, as this transaction sees it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tablename FROM pg_stats WHERE tablename LIKE 'memories_%'")
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.parametrize(("enough", "more", "times"), [(4, (), 1), (5, (), 0), (1, ("--batch", "1"), 1)])
def test_an_import_looks_at_its_lines_once_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: int, more: tuple[str, ...], times: int
) -> None:
    fast_namespace()
    monkeypatch.setattr(planner_statistics, "MIN_MEMORIES", enough)
    monkeypatch.setattr(planner_statistics, "estimated_memories", lambda: -1.0)
    with CaptureQueriesContext(connection) as asked:
        call_command("import_memories", "here", write_lines(tmp_path, LINES), *more)
    assert count_analyze(asked) == times


def test_lines_that_an_earlier_attempt_settled_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast_namespace()
    file = write_lines(tmp_path, LINES)
    call_command("import_memories", "here", file)
    monkeypatch.setattr(planner_statistics, "MIN_MEMORIES", 1)
    with CaptureQueriesContext(connection) as asked:
        call_command("import_memories", "here", file)
    assert count_analyze(asked) == 0


@pytest.mark.parametrize(("enough", "times"), [(4, 1), (5, 0)])
def test_so_does_a_stream_over_rest(client: Client, monkeypatch: pytest.MonkeyPatch, enough: int, times: int) -> None:
    headers, body = key_to(fast_namespace()), "".join(f"{json.dumps(line)}\n" for line in LINES)
    monkeypatch.setattr(planner_statistics, "MIN_MEMORIES", enough)
    monkeypatch.setattr(planner_statistics, "estimated_memories", lambda: -1.0)
    with CaptureQueriesContext(connection) as asked:
        response = client.post("/api/v1/here/import/", body, "application/x-ndjson", headers=headers)
        told = b"".join(response).decode().splitlines()
    assert json.loads(told[-1])["end"]["stored"] == len(LINES)
    assert count_analyze(asked) == times


def test_analyze_covers_every_table_that_memories_fill(tmp_path: Path) -> None:
    fast_namespace()
    call_command("import_memories", "here", write_lines(tmp_path, LINES))
    with CaptureQueriesContext(connection) as asked:
        planner_statistics.analyze_tables()
    assert analyzed_tables() >= {
        Memory._meta.db_table,
        Posting._meta.db_table,
        "memories_memoryvector",
        "memories_scoreevent",
    }
    passing = ("memories_trace", "memories_apikey", "memories_job,", "memories_idempotencyrecord")
    assert not any(name in asked[0]["sql"] for name in passing)


def test_the_demo_world_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(loader.world_export, "restore_export", lambda namespace: done.append("restored"))
    monkeypatch.setattr(loader.WorldWriter, "write_sessions", lambda self: None)
    monkeypatch.setattr(loader, "store_usage", lambda writer: None)
    monkeypatch.setattr(loader, "store_judgements", lambda writer: done.append("written"))
    monkeypatch.setattr(loader, "analyze_tables", lambda: done.append("looked"))
    monkeypatch.setattr(loader, "embed_ahead", lambda *_: nullcontext())
    loader.load_demo_world("small")
    loader.write_demo_world("other")
    assert done == ["restored", "looked", "written", "looked"]


def test_where_the_planner_knows_of_as_many_there_is_no_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast_namespace()
    monkeypatch.setattr(planner_statistics, "MIN_MEMORIES", 1)
    monkeypatch.setattr(planner_statistics, "estimated_memories", lambda: 1e6)
    with CaptureQueriesContext(connection) as asked:
        call_command("import_memories", "here", write_lines(tmp_path, LINES))
    assert count_analyze(asked) == 0


@pytest.mark.django_db(transaction=True)
def test_statistics_do_not_wait_for_a_table_whose_index_is_being_built() -> None:
    with lock_table("memories_memoryvector", "SHARE UPDATE EXCLUSIVE"):
        began = time.monotonic()
        planner_statistics.analyze_tables()
        assert time.monotonic() - began < 2
