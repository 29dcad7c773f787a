"""All retrievers in one round trip, each within its time limit; one that fails is left out and named."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import QueryCanceled

from memories.db.pipeline import Staged, Statement, raise_database_error, run_pipeline, set_config

logger = logging.getLogger(__name__)

SAVEPOINT = Statement("SAVEPOINT retrievers")
ROLLBACK_TO_SAVEPOINT = Statement("ROLLBACK TO SAVEPOINT retrievers")
NO_TIME_LIMIT = Statement("SET LOCAL statement_timeout TO DEFAULT")
CLOCK = "(1000 * extract(epoch FROM clock_timestamp()))::float8"  # ms


RankedList = dict[UUID, float]  # memories with a retriever's scores, best first


@dataclass
class Fetched:
    """The ranked list of each retriever, why the others have none, and how long each took."""

    lists: dict[str, RankedList] = field(default_factory=dict)
    timed_out: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, float] = field(default_factory=dict)


def fetch(statements: Mapping[str, Statement | Staged | None], config: Mapping[str, str] | None = None) -> Fetched:
    """The ranked list of each retriever, under the given Postgres settings.

    A retriever without a statement has an empty list. Those with a second statement send it in a second round trip.
    """
    fetched = Fetched()
    pending = {name: statement for name, statement in statements.items() if statement}
    limits = {"statement_timeout": str(settings.RECALL_RETRIEVER_MS), **(config or {})}
    while pending:
        pending = fetch_until_failure(pending, limits, fetched)
    return Fetched(
        {name: fetched.lists.get(name, {}) for name in statements if name not in fetched.timed_out},
        fetched.timed_out,
        {name: fetched.took_ms.get(name, 0.0) for name in statements},
    )


def fetch_until_failure(
    pending: Mapping[str, Statement | Staged], config: Mapping[str, str], fetched: Fetched
) -> dict[str, Statement | Staged]:
    """Run the statements, record their lists, and return what is still to be run.

    That is the second statement of some, and all after one that failed: Postgres has skipped them.
    """
    began = time.perf_counter()
    timed = [timed_rows(one.first) if isinstance(one, Staged) else as_arrays(one) for one in pending.values()]
    result = run_pipeline([SAVEPOINT, set_config(config, CLOCK), *timed, NO_TIME_LIMIT])
    if len(result.rows) < 2:
        assert result.error is not None
        raise_database_error(result.error)
    clock = started = result.rows[1][0][-1]
    remaining, second = dict(pending), dict[str, Statement | Staged]()
    for name, rows in zip(pending, result.rows[2:], strict=False):
        statement, finished = remaining.pop(name), rows[-1][-1] if rows else clock
        fetched.took_ms[name], clock = fetched.took_ms.get(name, 0.0) + finished - clock, finished
        if isinstance(statement, Staged):
            second[name] = statement.then(rows)
        else:
            [(ids, scores, _)] = rows
            fetched.lists[name] = dict(zip(ids or (), scores or (), strict=True))
    if result.error is None:
        return second
    if not remaining:
        raise_database_error(result.error)
    failed = next(iter(remaining))
    del remaining[failed]
    fetched.timed_out[failed] = failure_reason(failed, result.error)
    fetched.took_ms[failed] = 1000 * (time.perf_counter() - began) - (clock - started)
    run_pipeline([ROLLBACK_TO_SAVEPOINT])
    return second | remaining


@lru_cache(maxsize=256)
def array_sql(sql: str) -> str:
    """The SQL of a list as two arrays in one row, with the time at which it was complete."""
    return f"SELECT array_agg(memory_id), array_agg(score), {CLOCK} FROM ({sql}) AS list(memory_id, score)"


def as_arrays(statement: Statement) -> Statement:
    """A retriever's statement with its list as arrays."""
    return statement._replace(sql=array_sql(statement.sql))


@lru_cache(maxsize=256)
def timed_sql(sql: str) -> str:
    """The SQL of some rows, with the time at which each was complete."""
    return f"SELECT *, {CLOCK} FROM ({sql}) AS first"


def timed_rows(statement: Statement) -> Statement:
    """A statement with the time at which its rows were complete."""
    return statement._replace(sql=timed_sql(statement.sql))


def failure_reason(retriever: str, error: psycopg.Error) -> str:
    """Why a retriever has no list; a lost connection fails the whole retrieval."""
    if isinstance(error, QueryCanceled):
        return f"took longer than {settings.RECALL_RETRIEVER_MS} ms"
    if connection.connection.closed:
        raise_database_error(error)
    logger.error("the retriever %s failed", retriever, exc_info=error)
    return f"failed: {str(error).splitlines()[0]}"
