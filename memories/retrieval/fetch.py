"""Every retriever is asked, each within its time; one that is late or fails is left out and named."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import QueryCanceled

from memories.db.pipeline import AUTO_PLAN, GENERIC_PLAN, Statement, raise_database_error, run_pipeline, set_config
from memories.retrieval.ranked_list import EMPTY_LIST, RankedList
from memories.retrieval.retrievers.retriever_context import PendingQuery, RetrieverQuery
from memories.retrieval.time_limits import RELEASE, ROLLBACK_TO, SAVEPOINT, limit_statement

logger = logging.getLogger(__name__)


@dataclass
class Fetched:
    """What each route found, with its own score, in its own order; who did not answer and why; how long each took."""

    lists: dict[str, RankedList] = field(default_factory=dict)
    timed_out: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, float] = field(default_factory=dict)


def fetch(statements: Mapping[str, RetrieverQuery | PendingQuery | None]) -> Fetched:
    """Put all questions in one journey; after one that fails, those behind it are put again. In a transaction."""
    found = Fetched()
    waiting = {route: question for route, question in statements.items() if question}
    while waiting:
        waiting = fetch_pending(waiting, found)
    # In the order they were asked; one that had nothing to ask has found nothing.
    answered = {route: found.lists.get(route, EMPTY_LIST) for route in statements if route not in found.timed_out}
    took_ms = {route: found.took_ms.get(route, 0.0) for route in statements}
    return Fetched(answered, found.timed_out, took_ms)


def fetch_pending(
    pending: Mapping[str, RetrieverQuery | PendingQuery], fetched: Fetched
) -> dict[str, RetrieverQuery | PendingQuery]:
    """Put questions in one journey, and give those that must be put again."""
    began = time.perf_counter()
    ready = {route: question for route, question in pending.items() if isinstance(question, RetrieverQuery)}
    once, each = ({route: one for route, one in ready.items() if one.generic_plan == so} for so in (True, False))
    put = {**once, **each}
    more = {name: value for question in put.values() for name, value in question.settings.items()}
    anew = [set_config(AUTO_PLAN)] if 0 < len(once) < len(pending) else []

    def last() -> list[Statement]:
        worked_out = {route: one.query() for route, one in pending.items() if isinstance(one, PendingQuery)}
        put.update(worked_out)
        return [*retriever_statements(worked_out), ROLLBACK_TO, RELEASE]

    first = limit_statement({**more, **GENERIC_PLAN} if once else more)
    answers = run_pipeline([SAVEPOINT, first, *retriever_statements(once), *anew, *retriever_statements(each)], last)
    since, spent, refused = (answers.rows[0][0][-1] if answers.rows else 0.0), 0.0, {}
    for route, [(*told, now)] in zip(list(put), answers.rows[1:], strict=False):
        question = put.pop(route)
        if (listed := question.ranked_list(told)) is not None:
            fetched.lists[route], fetched.took_ms[route] = listed, now - since
        elif question.fallback:
            refused[route] = question.fallback
        since, spent = now, spent + now - since
    if answers.error is not None:
        if not answers.rows:
            raise_database_error(answers.error)  # the limits themselves
        failed = next(iter(put))
        del put[failed]
        fetched.timed_out[failed] = failure_reason(failed, answers.error)
        fetched.took_ms[failed] = 1000 * (time.perf_counter() - began) - spent
        run_pipeline([ROLLBACK_TO])
    return {**put, **{route: otherwise() for route, otherwise in refused.items()}}


def retriever_statements(retriever_queries: Mapping[str, RetrieverQuery]) -> list[Statement]:
    """The statements of some questions."""
    return [question.statement for question in retriever_queries.values()]


def failure_reason(retriever: str, error: psycopg.Error) -> str:
    """Why a retriever did not answer; where the database itself is away, nobody does."""
    if isinstance(error, QueryCanceled):
        return f"took longer than {settings.RECALL_RETRIEVER_MS} ms"
    if connection.connection.closed:
        raise_database_error(error)
    logger.error("the retriever %s failed", retriever, exc_info=error)
    return f"failed: {str(error).splitlines()[0]}"
