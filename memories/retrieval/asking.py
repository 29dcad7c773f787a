"""Every retriever is asked, each within its time; one that is late or fails is left out and named."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from psycopg.errors import QueryCanceled

from memories.retrieval.retrievers.question import Question

logger = logging.getLogger(__name__)


@dataclass
class Found:
    """What each route found, with its own score, in its own order; who did not answer and why; how long each took."""

    scores: dict[str, dict[UUID, float]] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, float] = field(default_factory=dict)


def ask(questions: Mapping[str, Question | None]) -> Found:
    """Put all questions; one that has nothing to ask has found nothing."""
    found = Found()
    for route, question in questions.items():
        began = time.perf_counter()
        try:
            found.scores[route] = answered(question) if question else {}
        except (DatabaseError, psycopg.Error) as error:
            found.late[route] = why(route, error)
        found.took_ms[route] = 1000 * (time.perf_counter() - began)
    return found


def why(route: str, error: Exception) -> str:
    """Why a retriever did not answer; where the database itself is away, nobody does."""
    # What a pipeline meets at its end comes as psycopg's own error.
    cause = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(cause, QueryCanceled):
        return f"took longer than {settings.RECALL_RETRIEVER_MS} ms"
    if isinstance(cause, psycopg.OperationalError) or connection.connection is None or connection.connection.closed:
        raise error
    logger.error("the retriever %s failed", route, exc_info=error)
    return f"failed: {str(cause).splitlines()[0]}"


def answered(question: Question) -> dict[UUID, float]:
    """Put one question, with a limit on its time, in a transaction of its own so that no other suffers."""
    limits = {"statement_timeout": str(settings.RECALL_RETRIEVER_MS), **question.settings}
    # One journey for the limits and the question.
    with transaction.atomic(), connection.cursor() as cursor:
        with connection.connection.pipeline():
            for name, value in limits.items():
                cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
            cursor.execute(question.sql, question.values)
        rows = cursor.fetchall()
        for name in limits:
            cursor.execute(f"SET LOCAL {name} TO DEFAULT")
    return {memory: float(score) for memory, score in rows}
