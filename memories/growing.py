"""What the database knows of its tables' sizes, kept in step while they grow fast."""

from dataclasses import dataclass

from django.apps import apps
from django.db import connection

FIRST = 200  # rows after which it matters how a table is read
FACTOR = 10


@dataclass
class Growth:
    """Rows that came one after another, and how many more are worth another look."""

    rows: int = 0
    due: int = FIRST

    def grown(self, rows: int) -> None:
        """Let the tables be measured once their rows are many, and again whenever they are ten times as many.

        The database does so by itself within a minute. Until then it reads a table that was empty a moment ago as if
        it still were: whole, for each row that refers to it.
        """
        self.rows += rows
        if self.rows < self.due:
            return
        self.due = FACTOR * self.rows
        tables = (
            connection.ops.quote_name(model._meta.db_table) for model in apps.get_app_config("memories").get_models()
        )
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(tables)}")
