"""Several questions to the database in one journey, with answers that come as they are stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from select import POLLIN, poll
from typing import Any, NamedTuple, NoReturn

import numpy as np
import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from pgvector import Vector
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus

from memories.db.id_arrays import ID, to_uuids
from memories.db.wire import Connection, PackedStatement, Wire, pack_statement


class Statement(NamedTuple):
    """One question, or an order that is answered by nothing."""

    sql: str
    values: Mapping[str, Any] = {}
    returns_rows: bool = True


def set_config(chosen: Mapping[str, str], *told: str) -> Statement:
    """The order that sets the database for the rest of a transaction; it may tell something."""
    orders = (f"set_config('{name}', '{value}', true)" for name, value in chosen.items())
    return Statement(f"SELECT {', '.join((*orders, *told))}", returns_rows=bool(told))


# To compile a question that only reads, or to start other processes for it, takes longer than to answer it.
NO_JIT = {"jit": "off", "max_parallel_workers_per_gather": "0"}
# One plan for all values, where the database would plan a question for each: that can take longer than to answer it.
GENERIC_PLAN, AUTO_PLAN = {"plan_cache_mode": "force_generic_plan"}, {"plan_cache_mode": "auto"}


def with_generic_plan(statements: Sequence[Statement], *, last: bool = False) -> list[Statement]:
    """Statements with one plan for all values; after the last of a transaction nobody plans anything."""
    return [set_config(GENERIC_PLAN), *statements, *([] if last else [set_config(AUTO_PLAN)])]


# Values that travel as bytes, and how they are written where somebody reads them.
READABLE: Mapping[type, Callable[[Any], Any]] = {
    Vector: Vector.to_text,
    np.ndarray: lambda array: to_uuids(array) if array.dtype == ID else array.tolist(),
}


@dataclass
class PipelineResult:
    """The rows of each question up to the first that failed, and why that one did."""

    rows: list[list[Any]] = field(default_factory=list)
    error: psycopg.Error | None = None


Later = Callable[[], Sequence[Statement]]
Meanwhile = Callable[[], None]


def run_pipeline(
    statements: Sequence[Statement], later: Later | None = None, meanwhile: Meanwhile | None = None
) -> PipelineResult:
    """Put questions one after another without waiting for answers in between.

    Those of later are worked out while the database is busy with the others; there may be something else to do while it
    is busy with the last.
    """
    here = ready_connection()
    here.validate_no_broken_transaction()
    raw = here.connection
    answers = PipelineResult()
    try:
        exchange(raw, [*begin_statements(raw), *log_statements(raw, statements)], answers, later, meanwhile)
    except psycopg.Error as error:
        answers.error = error
    return answers


def ready_connection() -> Any:
    """The database, connected. Whoever was cut off has something to read: only then is it worth a question."""
    here: Any = connections[DEFAULT_DB_ALIAS]  # once: each look for it through `connection` takes a microsecond
    raw = here.connection
    if here.health_check_enabled and not here.health_check_done and raw is not None and not raw.closed:
        waiting = poll()
        waiting.register(raw.pgconn.socket, POLLIN)
        here.health_check_done = not waiting.poll(0)
    here.close_if_health_check_failed()
    here.ensure_connection()
    return here


def begin_statements(raw: Connection) -> list[Statement]:
    """The orders that begin a transaction, where one is wanted and none is under way."""
    if raw.pgconn.transaction_status != TransactionStatus.IDLE:
        return []
    if raw.autocommit:
        return [*Wire.of(raw).begins]
    level = f" ISOLATION LEVEL {raw.isolation_level.name.replace('_', ' ')}" if raw.isolation_level else ""
    if not raw.read_only:
        return [Statement(f"BEGIN{level}", returns_rows=False)]
    return [Statement(f"BEGIN{level} READ ONLY", returns_rows=False), set_config(NO_JIT)]


def exchange(
    raw: Connection,
    statements: Sequence[Statement],
    answers: PipelineResult,
    later: Later | None = None,
    meanwhile: Meanwhile | None = None,
) -> None:
    """Gather the rows up to the first failure; a connection that is interrupted serves nobody any more.

    What goes wrong while something is worked out is raised once the journey has ended, and interrupts nothing.
    """
    wire = Wire.of(raw)
    transformer, put, wrong = wire.transformer, list[Statement](), list[Exception]()

    def ready(some: Sequence[Statement]) -> list[PackedStatement]:
        put.extend(some)
        return [pack_statement(transformer, one.sql, one.values) for one in some]

    def rest() -> list[PackedStatement]:
        try:
            return ready(log_statements(raw, later())) if later else []
        except Exception as error:
            wrong.append(error)
            return []

    def done() -> None:
        try:
            if meanwhile:
                meanwhile()
        except Exception as error:
            wrong.append(error)

    first = ready(statements)
    try:
        results = wire.results(raw, first, rest if later else None, done)
    except BaseException:
        raw.close()
        raise
    if wrong:
        raise wrong[0]
    for statement, result in zip(put, results, strict=False):
        if result.status == ExecStatus.FATAL_ERROR:
            answers.error = error_from_result(result)
        elif statement.returns_rows:
            transformer.set_pgresult(result)
            answers.rows.append(transformer.load_rows(0, result.ntuples, tuple))


def log_statements(raw: Connection, statements: Sequence[Statement]) -> Sequence[Statement]:
    """Statements, noted where Django notes its own."""
    if connection.queries_logged:
        connection.queries_log.extend({"sql": readable_sql(raw, one), "time": "0"} for one in statements)
    return statements


def readable_sql(raw: Connection, statement: Statement) -> str:
    """A statement with its values, as Django's own log of questions has them."""
    return psycopg.ClientCursor(raw).mogrify(statement.sql, readable_params(statement.values))


def readable_params(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they can be read."""
    return {name: READABLE[type(value)](value) if type(value) in READABLE else value for name, value in values.items()}


def fetch_pipeline(statements: Sequence[Statement], meanwhile: Meanwhile | None = None) -> list[list[Any]]:
    """The rows of questions that must all be answered; there may be something to do while one waits for them."""
    answers = run_pipeline(statements, meanwhile=meanwhile)
    if answers.error is not None:
        raise_database_error(answers.error)
    return answers.rows


def raise_database_error(error: psycopg.Error) -> NoReturn:
    """Raise an error as Django does, which then looks whether the connection still serves."""
    with connection.wrap_database_errors:
        raise error
