"""Planner statistics after a bulk write: autovacuum would refresh them only a minute or more later."""

from django.db import connection
from django.db.models import Model

from memories.models import Memory, Posting, PredicatePosting, TermStatistic
from memories.transfer.export import exported_tables

MIN_MEMORIES = 200  # about thirty rows each over all tables
GROWTH_FACTOR = 10


def analyze_tables() -> None:
    """ANALYZE the tables that memories fill, except those whose index is being built.

    It would wait for the end of the build, which waits for every transaction that is open: a deadlock.
    """
    tables: list[type[Model]] = [*exported_tables().values(), Posting, PredicatePosting, TermStatistic]
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(table._meta.db_table for table in tables)}")


def estimated_memories() -> float:
    """The planner's estimate of the number of memories; −1 if it has none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [Memory._meta.db_table])
        [(rows,)] = cursor.fetchall()
    return float(rows)


class StatisticsRefresh:
    """Refreshes the statistics during a bulk write: after `MIN_MEMORIES`, then whenever they have grown tenfold.

    Otherwise the planner still takes a filled table for empty, and scans it for every row that refers to it. Skipped
    if the planner already knows of as many memories.
    """

    def __init__(self) -> None:
        self.memories, self.due = 0, MIN_MEMORIES

    def add(self, memories: int) -> None:
        """Count memories that were written."""
        self.memories += memories
        if self.memories >= self.due:
            self.due = GROWTH_FACTOR * self.memories
            if estimated_memories() < self.memories:
                analyze_tables()
