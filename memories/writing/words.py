"""Memories as words: postings and statistics, kept in step with what is active."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from memories.models import Namespace

WORDS = """
    SELECT m.namespace_id, m.id, m.level, w.lexeme, coalesce(cardinality(w.positions), 1) AS frequency
    FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.content)) w
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s)
"""
INDEX = f"""
    WITH words AS ({WORDS}),
    posted AS (
        INSERT INTO memories_posting (namespace_id, term, memory_id, frequency, length, level)
        SELECT namespace_id, lexeme, id, frequency, sum(frequency) OVER (PARTITION BY id), level
        FROM words ORDER BY lexeme, id
    ),
    counted AS (
        INSERT INTO memories_termstatistic AS known (namespace_id, term, documents)
        SELECT namespace_id, lexeme, count(*) FROM words GROUP BY namespace_id, lexeme ORDER BY lexeme
        ON CONFLICT (namespace_id, term) DO UPDATE SET documents = known.documents + excluded.documents
    ),
    measured AS (
        UPDATE memories_memory m SET length = total.length
        FROM (SELECT id, sum(frequency) AS length FROM words GROUP BY id) total
        WHERE m.namespace_id = %(namespace)s AND m.id = total.id
    )
    UPDATE memories_namespacestatistics
    SET documents = documents + %(count)s, total_length = total_length + (SELECT coalesce(sum(frequency), 0) FROM words)
    WHERE namespace_id = %(namespace)s
"""
UNINDEX = """
    WITH gone AS (
        DELETE FROM memories_posting WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s)
        RETURNING term, frequency
    ),
    counted AS (
        UPDATE memories_termstatistic known SET documents = known.documents - fewer.documents
        FROM (SELECT term, count(*) AS documents FROM gone GROUP BY term ORDER BY term) fewer
        WHERE known.namespace_id = %(namespace)s AND known.term = fewer.term
    )
    UPDATE memories_namespacestatistics
    SET documents = documents - %(count)s, total_length = total_length - (SELECT coalesce(sum(frequency), 0) FROM gone)
    WHERE namespace_id = %(namespace)s
"""


def index(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Let the words of memories that became active be found; the caller holds the namespace's statistics row."""
    _run(INDEX, namespace, ids)


def unindex(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Take the words of memories that are active no longer out again."""
    _run(UNINDEX, namespace, ids)


def _run(statement: str, namespace: Namespace, ids: Sequence[UUID]) -> None:
    if not ids:
        return
    values: dict[str, Any] = {"namespace": namespace.id, "ids": list(ids), "count": len(ids)}
    with connection.cursor() as cursor:
        cursor.execute(statement, values | {"config": namespace.text_config})
