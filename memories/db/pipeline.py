"""SQL statements in one round trip, by psycopg's pipeline mode, with binary results; and snapshots."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import psycopg
from django.db import connection, transaction
from psycopg.errors import PipelineAborted

from memories.db.adapters import register_adapters

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


def run_pipeline(statements: Sequence[Statement]) -> PipelineResult:
    """Send all statements at once; those after one that fails are not executed."""
    with connection.cursor() as django_cursor:  # connects, and checks the connection's health once per request
        raw: psycopg.Connection[Any] = django_cursor.connection
    connection.validate_no_broken_transaction()
    register_adapters(raw)
    if connection.queries_logged:
        connection.queries_log.extend({"sql": statement.sql, "time": "0"} for statement in statements)
    cursors = [psycopg.Cursor(raw) for _ in statements]
    error: psycopg.Error | None = None
    try:
        with raw.pipeline():
            try:
                for cursor, statement in zip(cursors, statements, strict=True):
                    cursor.execute(statement.sql, statement.values, binary=True)
            except psycopg.Error as early:
                error = early
    except psycopg.Error as late:
        error = error or root_cause(late)
    executed = [cursor for cursor in cursors if cursor.pgresult is not None]
    return PipelineResult([cursor.fetchall() if cursor.description else [] for cursor in executed], error)


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
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
