"""What the tables and the vector indexes take up, all namespaces together."""

from typing import NamedTuple

from django.db import connection

# A table that is cut into days counts as one; what is no table of memories is left out.
TABLES = r"""
    SELECT coalesce(i.inhparent, c.oid)::regclass::text AS name,
        sum(pg_table_size(c.oid))::bigint, sum(pg_indexes_size(c.oid))::bigint
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND c.relname LIKE 'memories\_%%' AND c.relnamespace = current_schema()::regnamespace
    GROUP BY 1 ORDER BY sum(pg_total_relation_size(c.oid)) DESC
"""
VECTORS = """
    SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = 'memories_memoryvector'::regclass AND a.amname = 'hnsw' ORDER BY 1
"""


class Table(NamedTuple):
    """One table: its rows, and all its indexes."""

    name: str
    rows: int  # bytes
    indexes: int  # bytes

    @property
    def whole(self) -> int:
        """Both, in bytes."""
        return self.rows + self.indexes


def tables() -> list[Table]:
    """Every table of memories, the largest first."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        return [Table(name.removeprefix("memories_"), rows, indexes) for name, rows, indexes in cursor.fetchall()]


def vector_indexes() -> dict[str, int]:
    """The bytes of each embedder's index."""
    with connection.cursor() as cursor:
        cursor.execute(VECTORS)
        return {name.removeprefix("memoryvector_"): size for name, size in cursor.fetchall()}
