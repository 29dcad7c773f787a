"""The time that one question of a retrieval has, and a way back for the rest where one fails."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from memories.journey import Statement, asked, set_to

SAVEPOINT = Statement("SAVEPOINT retrievers", answered=False)
RELEASE = Statement("RELEASE SAVEPOINT retrievers", answered=False)
# Whatever was set or failed since.
BACK = Statement("ROLLBACK TO SAVEPOINT retrievers", answered=False)
NOW = "(1000 * extract(epoch FROM clock_timestamp()))::float8"


def limits(more: Mapping[str, str]) -> Statement:
    """The order that limits the time of each question that follows, and sets more; it tells the time last."""
    return set_to({"statement_timeout": str(settings.RECALL_RETRIEVER_MS), **more}, NOW)


def in_time(*statements: Statement) -> list[list[Any]] | None:
    """The rows of some questions, each answered in time; none where one was not."""
    answers = asked([SAVEPOINT, limits({}), *statements, BACK, RELEASE])
    if answers.error is not None:
        asked([BACK])
        return None
    return answers.rows[1:]
