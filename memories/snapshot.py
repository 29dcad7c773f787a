"""One moment for many questions."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memories.journey import Statement, answered

ONE_MOMENT = Statement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", answered=False)
UNCOMPILED = Statement("SET LOCAL jit = off", answered=False)  # to compile a question takes longer than to answer it


@contextmanager
def snapshot() -> Iterator[None]:
    """Let many questions see one moment; whoever is in a transaction already goes by the moment of theirs."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        answered([ONE_MOMENT, UNCOMPILED])
        yield
