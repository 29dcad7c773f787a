"""One moment for many questions: as Django's transaction, or, in less time, by journeys alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psycopg
from django.db import connection, transaction
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

from memories.db.pipeline import NO_JIT, Statement, ready_connection, set_config
from memories.db.wire import Wire

BEGIN = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", returns_rows=False)
END = Statement("COMMIT", returns_rows=False)


@contextmanager
def snapshot() -> Iterator[Sequence[Statement]]:
    """Let many questions see one moment; whoever is in a transaction already goes by the moment of theirs.

    It begins with the first question. What ends it can go along with the last: by itself either would travel as long as
    a small question.
    """
    if connection.in_atomic_block:
        yield ()
        return
    raw = ready_connection().connection
    usual = raw.isolation_level
    raw.isolation_level, raw.read_only = IsolationLevel.REPEATABLE_READ, True
    try:
        with transaction.atomic():
            yield (END,)
    finally:
        if not raw.closed:
            raw.isolation_level, raw.read_only = usual, None


@contextmanager
def pipelined_snapshot() -> Iterator[Sequence[Statement]]:
    """The same for whoever asks in journeys, the first question at least: Django does not hear of the transaction."""
    if connection.in_atomic_block:
        yield ()
        return
    raw = ready_connection().connection
    wire = Wire.of(raw)
    wire.begins = (BEGIN, set_config(NO_JIT))
    try:
        yield (END,)
    finally:
        wire.begins = ()
        if not raw.closed and raw.pgconn.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # whoever is cut off has nothing to end
                raw.pgconn.exec_(b"ROLLBACK")
