"""The time that one question of a retrieval has, and a way back for the rest where one fails."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from memories.db.pipeline import Statement, run_pipeline, set_config

SAVEPOINT = Statement("SAVEPOINT retrievers", returns_rows=False)
RELEASE = Statement("RELEASE SAVEPOINT retrievers", returns_rows=False)
# Whatever was set or failed since.
ROLLBACK_TO = Statement("ROLLBACK TO SAVEPOINT retrievers", returns_rows=False)
NOW = "(1000 * extract(epoch FROM clock_timestamp()))::float8"


def limit_statement(more: Mapping[str, str]) -> Statement:
    """The order that limits the time of each question that follows, and sets more; it tells the time last."""
    return set_config({"statement_timeout": str(settings.RECALL_RETRIEVER_MS), **more}, NOW)


def fetch_within_limit(*statements: Statement) -> list[list[Any]] | None:
    """The rows of some questions, each answered in time; none where one was not."""
    answers = run_pipeline([SAVEPOINT, limit_statement({}), *statements, ROLLBACK_TO, RELEASE])
    if answers.error is not None:
        run_pipeline([ROLLBACK_TO])
        return None
    return answers.rows[1:]
