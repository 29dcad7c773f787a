"""What the database's planner goes by, right after many rows came: by itself it looks a minute or more later."""

from django.db import connection
from django.db.models import Model

from memories.models import Memory, Posting, TermStatistic
from memories.transfer.tables import tables

ENOUGH = 200  # memories; each is some thirty rows over all tables
FACTOR = 10


def analyse() -> None:
    """Have the planner look at the tables that memories fill."""
    filled: list[type[Model]] = [*tables().values(), Posting, TermStatistic]
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in filled)}")


def thought() -> float:
    """How many memories the planner thinks there are; −1 where it has never looked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [Memory._meta.db_table])
        [(rows,)] = cursor.fetchall()
    return float(rows)


class Growth:
    """Memories that come one after another: once they are many, and whenever they are ten times as many, a look.

    None where the planner knows of as many as came.
    A table that was empty a moment ago is otherwise read as if it still were: whole, for each row that refers to it.
    """

    def __init__(self) -> None:
        self.memories, self.due = 0, ENOUGH

    def grown(self, memories: int) -> None:
        """So many more have come."""
        self.memories += memories
        if self.memories >= self.due:
            self.due = FACTOR * self.memories
            if thought() < self.memories:
                analyse()
