"""Every retriever is asked, each within its time; one that is late or fails is left out and named."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.errors import QueryCanceled

from memories.journey import ONE_PLAN, USUAL_PLANS, Statement, asked, raised, set_to
from memories.retrieval.limits import BACK, RELEASE, SAVEPOINT, limits
from memories.retrieval.listed import NOTHING, Listed
from memories.retrieval.retrievers.question import Question, Unready

logger = logging.getLogger(__name__)


@dataclass
class Found:
    """What each route found, with its own score, in its own order; who did not answer and why; how long each took."""

    scores: dict[str, Listed] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    took_ms: dict[str, float] = field(default_factory=dict)


def ask(questions: Mapping[str, Question | Unready | None]) -> Found:
    """Put all questions in one journey; after one that fails, those behind it are put again. In a transaction."""
    found = Found()
    waiting = {route: question for route, question in questions.items() if question}
    while waiting:
        waiting = put_again(waiting, found)
    # In the order they were asked; one that had nothing to ask has found nothing.
    answered = {route: found.scores.get(route, NOTHING) for route in questions if route not in found.late}
    took_ms = {route: found.took_ms.get(route, 0.0) for route in questions}
    return Found(answered, found.late, took_ms)


def put_again(waiting: Mapping[str, Question | Unready], found: Found) -> dict[str, Question | Unready]:
    """Put questions in one journey, and give those that must be put again."""
    began = time.perf_counter()
    ready = {route: question for route, question in waiting.items() if isinstance(question, Question)}
    once, each = ({route: one for route, one in ready.items() if one.planned_once == so} for so in (True, False))
    put = {**once, **each}
    more = {name: value for question in put.values() for name, value in question.settings.items()}
    anew = [set_to(USUAL_PLANS)] if 0 < len(once) < len(waiting) else []

    def last() -> list[Statement]:
        worked_out = {route: one.question() for route, one in waiting.items() if isinstance(one, Unready)}
        put.update(worked_out)
        return [*put_by(worked_out), BACK, RELEASE]

    first = limits({**more, **ONE_PLAN} if once else more)
    answers = asked([SAVEPOINT, first, *put_by(once), *anew, *put_by(each)], last)
    since, spent, refused = (answers.rows[0][0][-1] if answers.rows else 0.0), 0.0, {}
    for route, [(*told, now)] in zip(list(put), answers.rows[1:], strict=False):
        question = put.pop(route)
        if (listed := question.listed(told)) is not None:
            found.scores[route], found.took_ms[route] = listed, now - since
        elif question.otherwise:
            refused[route] = question.otherwise
        since, spent = now, spent + now - since
    if answers.error is not None:
        if not answers.rows:
            raised(answers.error)  # the limits themselves
        failed = next(iter(put))
        del put[failed]
        found.late[failed] = why(failed, answers.error)
        found.took_ms[failed] = 1000 * (time.perf_counter() - began) - spent
        asked([BACK])
    return {**put, **{route: otherwise() for route, otherwise in refused.items()}}


def put_by(questions: Mapping[str, Question]) -> list[Statement]:
    """The statements of some questions."""
    return [question.statement for question in questions.values()]


def why(route: str, error: psycopg.Error) -> str:
    """Why a retriever did not answer; where the database itself is away, nobody does."""
    if isinstance(error, QueryCanceled):
        return f"took longer than {settings.RECALL_RETRIEVER_MS} ms"
    if connection.connection.closed:
        raised(error)
    logger.error("the retriever %s failed", route, exc_info=error)
    return f"failed: {str(error).splitlines()[0]}"
