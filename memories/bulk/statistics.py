"""What the database's planner goes by, right after many rows came: by itself it looks a minute or more later."""

from django.db import connection
from django.db.models import Model

from memories.bulk.tables import tables
from memories.models import Posting, TermStatistic

ENOUGH = 1_000  # memories; each is some thirty rows over all tables


def analyse() -> None:
    """Have the planner look at the tables that memories fill."""
    filled: list[type[Model]] = [*tables().values(), Posting, TermStatistic]
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in filled)}")


def analyse_after(lines: int) -> None:
    """The same, where so many lines of an import are worth a look."""
    if lines >= ENOUGH:
        analyse()
