"""SQL statements in one round trip, by psycopg's pipeline mode, with binary results; and snapshots."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import psycopg
from django.db import connection, transaction
from psycopg.errors import PipelineAborted

from memories.db.adapters import register_adapters

PLACEHOLDER = re.compile(r"%(?:\((\w+)\)s|%)")
Rows = list[tuple[Any, ...]]


class Statement(NamedTuple):
    """An SQL statement with its named values."""

    sql: str
    values: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Staged:
    """A statement whose rows say what the next one is."""

    first: Statement
    then: Callable[[Rows], Statement]


@dataclass
class PipelineResult:
    """The rows of each statement before the first that failed, and its error."""

    rows: list[Rows] = field(default_factory=list)
    error: psycopg.Error | None = None


def run_pipeline(
    statements: Iterable[Statement], then: Callable[[Sequence[Rows]], Iterable[Statement]] | None = None
) -> PipelineResult:
    """Send all statements at once; those after one that fails are not executed.

    `then` is given their rows, and its statements are sent one by one: Postgres runs one while it makes the next. This
    takes a second round trip and a transaction around it.
    """
    with connection.cursor() as django_cursor:  # connects, and checks the connection's health once per request
        raw: psycopg.Connection[Any] = django_cursor.connection
    connection.validate_no_broken_transaction()
    register_adapters(raw)
    result, cursors = PipelineResult(), list[psycopg.Cursor[Any]]()
    try:
        with raw.pipeline() as pipeline:
            try:
                send(raw, statements, cursors)
                if then is not None:
                    pipeline.sync()
                    result.rows += fetch_rows(cursors)
                    send(raw, then(result.rows), cursors)
            except psycopg.Error as early:
                result.error = early
    except psycopg.Error as late:
        result.error = result.error or root_cause(late)
    result.rows += fetch_rows(cursors[len(result.rows) :])
    return result


def send(raw: psycopg.Connection[Any], statements: Iterable[Statement], cursors: list[psycopg.Cursor[Any]]) -> None:
    """Send statements through an open pipeline, each by a cursor of its own."""
    logged = connection.queries_logged
    for statement in statements:
        if logged:
            connection.queries_log.append({"sql": statement.sql, "time": "0"})
        sql, names = number_placeholders(statement.sql)
        cursors.append(psycopg.RawCursor(raw))
        cursors[-1].execute(sql, [statement.values[name] for name in names] or None, binary=True)


@lru_cache(maxsize=1_000)
def number_placeholders(sql: str) -> tuple[str, tuple[str, ...]]:
    """The SQL with Postgres' own placeholders, and the names of their values in order.

    psycopg converts named placeholders too, but statements above 4,096 characters anew each time.
    """
    numbers: dict[str, int] = {}
    numbered = PLACEHOLDER.sub(
        lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}" if found[1] else "%", sql
    )
    return numbered, tuple(numbers)


def fetch_rows(cursors: Sequence[psycopg.Cursor[Any]]) -> list[Rows]:
    """The rows of each statement that was executed; none for a command."""
    executed = [cursor for cursor in cursors if cursor.pgresult is not None]
    return [cursor.fetchall() if cursor.description else [] for cursor in executed]


def root_cause(error: psycopg.Error) -> psycopg.Error:
    """The error of the statement that failed; those after it only report that the pipeline is aborted."""
    while isinstance(error, PipelineAborted) and isinstance(error.__context__, psycopg.Error):
        error = error.__context__
    return error


def fetch_pipeline(statements: Sequence[Statement]) -> list[Rows]:
    """The rows of each statement; the first error is raised as Django would raise it."""
    result = run_pipeline(statements)
    if result.error is not None:
        raise_database_error(result.error)
    return result.rows


def raise_database_error(error: psycopg.Error) -> NoReturn:
    """Raise psycopg's error as Django's, so that Django replaces a lost connection at the next request."""
    with connection.wrap_database_errors:
        raise error


def set_config(settings: Mapping[str, str], *columns: str) -> Statement:
    """Set Postgres settings until the end of the transaction; further columns are selected after them."""
    calls = (f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return Statement(f"SELECT {', '.join((*calls, *columns))}")


@contextmanager
def snapshot() -> Iterator[None]:
    """A read-only snapshot for several statements; inside a transaction, that transaction's view."""
    if connection.in_atomic_block:
        yield
        return
    raw: psycopg.Connection[Any] | None = None
    try:
        with transaction.atomic():
            raw = connection.connection
            # psycopg sends BEGIN, which says so, along with the first statement.
            raw.isolation_level, raw.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
            yield
    finally:
        if raw and not raw.closed:
            raw.isolation_level = raw.read_only = None
