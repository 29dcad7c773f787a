"""Memories as words: postings and statistics, kept in step with what is active."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from memories.models import Memory, Namespace

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
        WHERE m.namespace_id = %(namespace)s AND m.id = total.id AND m.length <> total.length
    )
    UPDATE memories_namespacestatistics
    SET documents = documents + %(count)s, total_length = total_length + (SELECT coalesce(sum(frequency), 0) FROM words)
    WHERE namespace_id = %(namespace)s
"""
LENGTHS = """
    SELECT (SELECT coalesce(sum(coalesce(cardinality(w.positions), 1)), 0)
        FROM unnest(to_tsvector(%(config)s::regconfig, text)) w)
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS t(text, place) ORDER BY place
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


def measure(namespace: Namespace, memories: Sequence[Memory]) -> None:
    """Tell new memories how many words they hold: a row that is stored first and measured then is written twice."""
    if not memories:
        return
    with connection.cursor() as cursor:
        cursor.execute(LENGTHS, {"config": namespace.text_config, "texts": [one.content for one in memories]})
        for memory, (length,) in zip(memories, cursor.fetchall(), strict=True):
            memory.length = length


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
