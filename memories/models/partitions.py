"""Daily partitions of traces, by their id, which sorts by time."""

from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.operations import CreateModel

from memories.db.ids import first_id_at

TABLE = "memories_trace"
DEFAULT = f"{TABLE}_default"
NAME = f"{TABLE}_%Y_%m_%d"
LOCK_TIMEOUT = "5s"  # other queries queue behind a waiting lock


class CreatePartitionedModel(CreateModel):
    """Create a table partitioned by its id, with a default partition."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        plain = schema_editor.sql_create_table
        schema_editor.sql_create_table = f"{plain} PARTITION BY RANGE (id)"
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        schema_editor.sql_create_table = plain
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        schema_editor.execute(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")


def ensure_partitions(first: date, days: int) -> list[str]:
    """Create the missing partitions of some days, moving rows out of the default partition; return their names."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        # Serialises this function, without blocking readers and writers.
        cursor.execute(f"LOCK TABLE {TABLE} IN SHARE UPDATE EXCLUSIVE MODE")
        existing = _partitions(cursor)
        new = [day for day in (first + timedelta(days=i) for i in range(days)) if f"{day:{NAME}}" not in existing]
        for day in new:
            _create(cursor, day)
    return [f"{day:{NAME}}" for day in new]


def drop_partitions(before: date) -> list[str]:
    """Drop the partitions before a day, and older rows of the default partition; return their names."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        old = [name for name in _partitions(cursor) if name < f"{before:{NAME}}"]
        for name in old:
            cursor.execute(f"DROP TABLE {name}")
        cursor.execute(f"DELETE FROM {DEFAULT} WHERE id < %s", [_start(before)])
    return old


def _create(cursor: CursorWrapper, day: date) -> None:
    """Fill a separate table and attach it, since the default partition may hold no rows of the new one."""
    name, start, end = f"{day:{NAME}}", _start(day), _start(day + timedelta(days=1))
    cursor.execute(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)")
    cursor.execute(
        f"WITH moved AS (DELETE FROM {DEFAULT} WHERE id >= %s AND id < %s RETURNING *)"
        f" INSERT INTO {name} SELECT * FROM moved",
        [start, end],
    )
    cursor.execute(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{start}') TO ('{end}')")


def _partitions(cursor: CursorWrapper) -> list[str]:
    """The daily partitions, oldest first."""
    cursor.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass ORDER BY 1", [TABLE]
    )
    return [name for (name,) in cursor.fetchall() if name != DEFAULT]


def _start(day: date) -> str:
    """The first id of a day (UTC)."""
    return str(first_id_at(datetime.combine(day, clock(), tzinfo=UTC)))
