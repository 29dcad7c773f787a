"""One moment for many questions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, transaction
from psycopg import IsolationLevel

from memories.journey import Statement

END = Statement("COMMIT", answered=False)


@contextmanager
def snapshot() -> Iterator[Sequence[Statement]]:
    """Let many questions see one moment; whoever is in a transaction already goes by the moment of theirs.

    It begins with the first question. What ends it can go along with the last: by itself either would travel as long as
    a small question.
    """
    if connection.in_atomic_block:
        yield ()
        return
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    raw = connection.connection
    usual = raw.isolation_level
    raw.isolation_level, raw.read_only = IsolationLevel.REPEATABLE_READ, True
    try:
        with transaction.atomic():
            yield (END,)
    finally:
        if not raw.closed:
            raw.isolation_level, raw.read_only = usual, None
