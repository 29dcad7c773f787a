"""Disk usage of the tables and vector indexes, over all namespaces."""

from typing import NamedTuple

from django.db import connection

# The partitions of a table count as one table.
TABLES_SQL = r"""
    SELECT coalesce(i.inhparent, c.oid)::regclass::text AS name,
        sum(pg_table_size(c.oid))::bigint, sum(pg_indexes_size(c.oid))::bigint
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND c.relname LIKE 'memories\_%%' AND c.relnamespace = current_schema()::regnamespace
    GROUP BY 1 ORDER BY sum(pg_total_relation_size(c.oid)) DESC
"""
VECTOR_INDEXES_SQL = """
    SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = 'memories_memoryvector'::regclass AND a.amname = 'hnsw' ORDER BY 1
"""


class TableSize(NamedTuple):
    """The bytes of a table's rows and of its indexes."""

    name: str
    rows: int
    indexes: int

    @property
    def total(self) -> int:
        """Rows and indexes, in bytes."""
        return self.rows + self.indexes


def all_table_sizes() -> list[TableSize]:
    """Every table of this app, the largest first."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES_SQL)
        return [TableSize(name.removeprefix("memories_"), rows, indexes) for name, rows, indexes in cursor.fetchall()]


def vector_index_sizes() -> dict[str, int]:
    """The bytes of each namespace's HNSW index."""
    with connection.cursor() as cursor:
        cursor.execute(VECTOR_INDEXES_SQL)
        return dict(cursor.fetchall())
