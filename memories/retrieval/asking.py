"""Every retriever is asked, each within its time; one that is late or fails is left out and named."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import QueryCanceled

from memories.journey import Statement, asked, raised
from memories.retrieval.limits import BACK, NOW, RELEASE, SAVEPOINT, limits
from memories.retrieval.retrievers.question import Question

logger = logging.getLogger(__name__)

CLOCK = Statement(f"SELECT {NOW}")


@dataclass
class Found:
    """What each route found, with its own score, in its own order; who did not answer and why; how long each took."""

    scores: dict[str, dict[UUID, float]] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, float] = field(default_factory=dict)


def ask(questions: Mapping[str, Question | None]) -> Found:
    """Put all questions in one journey; after one that fails, those behind it are put again. In a transaction."""
    found = Found()
    waiting = {route: question for route, question in questions.items() if question}
    while waiting:
        began = time.perf_counter()
        put = [one for question in waiting.values() for one in (Statement(question.sql, question.values), CLOCK)]
        more = {name: value for question in waiting.values() for name, value in question.settings.items()}
        answers = asked([SAVEPOINT, limits(more), *put, BACK, RELEASE])
        since, spent = (answers.rows[0][0][-1] if answers.rows else 0.0), 0.0
        for route, rows, [[now]] in zip(list(waiting), answers.rows[1::2], answers.rows[2::2], strict=False):
            del waiting[route]
            found.scores[route], found.took_ms[route] = dict(rows), now - since
            since, spent = now, spent + now - since
        if answers.error is None:
            break
        if not answers.rows:
            raised(answers.error)  # the limits themselves
        failed = next(iter(waiting))
        del waiting[failed]
        found.late[failed] = why(failed, answers.error)
        found.took_ms[failed] = 1000 * (time.perf_counter() - began) - spent
        asked([BACK])
    # In the order they were asked; one that had nothing to ask has found nothing.
    answered = {route: found.scores.get(route, {}) for route in questions if route not in found.late}
    took_ms = {route: found.took_ms.get(route, 0.0) for route in questions}
    return Found(answered, found.late, took_ms)


def why(route: str, error: psycopg.Error) -> str:
    """Why a retriever did not answer; where the database itself is away, nobody does."""
    if isinstance(error, QueryCanceled):
        return f"took longer than {settings.RECALL_RETRIEVER_MS} ms"
    if connection.connection.closed:
        raised(error)
    logger.error("the retriever %s failed", route, exc_info=error)
    return f"failed: {str(error).splitlines()[0]}"
