"""All retrievers in one round trip, each within its time limit; one that fails is left out and named."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import QueryCanceled

from memories.db.pipeline import Rows, Staged, Statement, raise_database_error, run_pipeline, set_config

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

    A retriever without a statement has an empty list.
    """
    fetched = Fetched()
    pending = {name: statement for name, statement in statements.items() if statement}
    limits = {"statement_timeout": str(settings.RECALL_RETRIEVER_MS), **(config or {})}
    while pending:
        fetch_until_failure(pending, limits, fetched)
        done = fetched.lists.keys() | fetched.timed_out.keys()
        pending = {name: statement for name, statement in pending.items() if name not in done}
    return Fetched(
        {name: fetched.lists.get(name, {}) for name in statements if name not in fetched.timed_out},
        fetched.timed_out,
        {name: fetched.took_ms.get(name, 0.0) for name in statements},
    )


def fetch_until_failure(pending: Mapping[str, Statement | Staged], config: Mapping[str, str], fetched: Fetched) -> None:
    """Record the list of each retriever up to one that fails: Postgres skips what was sent after it.

    The first statements of those with two go first; their rows are scored while Postgres searches for the others.
    """
    staged = {name: one for name, one in pending.items() if isinstance(one, Staged)}
    direct = {name: one for name, one in pending.items() if isinstance(one, Statement)}
    order = [*staged, *direct, *staged]

    def lists(rows: Sequence[Rows]) -> Iterator[Statement]:
        yield from map(as_arrays, direct.values())
        for one, first in zip(staged.values(), rows[2:], strict=True):
            yield as_arrays(one.then(first))
        yield NO_TIME_LIMIT

    began = time.perf_counter()
    start = [SAVEPOINT, set_config(config, CLOCK), *(timed_rows(one.first) for one in staged.values())]
    result = run_pipeline(start, lists) if staged else run_pipeline([*start, *lists(())])
    if len(result.rows) < 2:
        assert result.error is not None
        raise_database_error(result.error)
    clock = started = result.rows[1][0][-1]
    for place, (name, rows) in enumerate(zip(order, result.rows[2:], strict=False)):
        finished = rows[-1][-1] if rows else clock
        fetched.took_ms[name], clock = fetched.took_ms.get(name, 0.0) + finished - clock, finished
        if place >= len(staged):
            [(ids, scores, _)] = rows
            fetched.lists[name] = dict(zip(ids or (), scores or (), strict=True))
    if result.error is None:
        return
    answered = len(result.rows) - 2
    if answered >= len(order):
        raise_database_error(result.error)
    failed = order[answered]
    fetched.timed_out[failed] = failure_reason(failed, result.error)
    fetched.took_ms[failed] = 1000 * (time.perf_counter() - began) - (clock - started)
    run_pipeline([ROLLBACK_TO_SAVEPOINT])


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
