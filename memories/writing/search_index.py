"""What a search reads: postings, term statistics, vectors and token states."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from memories.models import Memory, MemoryVector, Namespace, TokenStates
from memories.models.choices import ChunkLevel, Route
from memories.providers.token_matrix import TokenMatrix
from scoring.term import Array

LEXEMES_SQL = """
    SELECT m.namespace_id, m.id, m.level, w.lexeme, coalesce(cardinality(w.positions), 1) AS frequency
    FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.content)) w
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s)
"""
INDEX_SQL = f"""
    WITH words AS ({LEXEMES_SQL}),
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
    predicates AS (
        INSERT INTO memories_predicateposting (namespace_id, term, memory_id, level)
        SELECT m.namespace_id, w.lexeme, m.id, m.level
        FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.predicate)) w
        WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s) ORDER BY w.lexeme, m.id
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
LENGTHS_SQL = """
    SELECT (SELECT coalesce(sum(coalesce(cardinality(w.positions), 1)), 0)
        FROM unnest(to_tsvector(%(config)s::regconfig, text)) w)
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS t(text, ordinal) ORDER BY ordinal
"""
UNINDEX_SQL = """
    WITH removed AS (
        DELETE FROM memories_posting WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s)
        RETURNING term, frequency
    ),
    predicates AS (
        DELETE FROM memories_predicateposting WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s)
    ),
    counted AS (
        UPDATE memories_termstatistic known SET documents = known.documents - counts.documents
        FROM (SELECT term, count(*) AS documents FROM removed GROUP BY term ORDER BY term) counts
        WHERE known.namespace_id = %(namespace)s AND known.term = counts.term
    )
    UPDATE memories_namespacestatistics
    SET documents = documents - %(count)s,
        total_length = total_length - (SELECT coalesce(sum(frequency), 0) FROM removed)
    WHERE namespace_id = %(namespace)s
"""


def set_document_lengths(namespace: Namespace, memories: Sequence[Memory]) -> None:
    """Set the document length of new memories before they are inserted; setting it later would write the row twice."""
    if not memories:
        return
    with connection.cursor() as cursor:
        cursor.execute(LENGTHS_SQL, {"config": namespace.text_config, "texts": [memory.content for memory in memories]})
        for memory, (length,) in zip(memories, cursor.fetchall(), strict=True):
            memory.length = length


def index_postings(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Add the postings of memories that became active; the caller holds the namespace lock."""
    _execute_on_memories(INDEX_SQL, namespace, ids)


def remove_postings(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Remove the postings of memories that are no longer active."""
    _execute_on_memories(UNINDEX_SQL, namespace, ids)


def _execute_on_memories(statement: str, namespace: Namespace, ids: Sequence[UUID]) -> None:
    if not ids:
        return
    values: dict[str, Any] = {"namespace": namespace.id, "ids": list(ids), "count": len(ids)}
    with connection.cursor() as cursor:
        cursor.execute(statement, values | {"config": namespace.text_config})


def vector_row(
    namespace: Namespace, memory: UUID, route: Route, vector: Array, level: str = ChunkLevel.FACT
) -> MemoryVector:
    """An unsaved vector of a memory."""
    return MemoryVector(
        namespace=namespace,
        memory_id=memory,
        route=route,
        embedder=namespace.embedder,
        vector=vector,
        level=level,
        written=namespace.writing,
    )


def token_states_row(namespace: Namespace, memory: UUID, embedder: str, matrix: TokenMatrix) -> TokenStates:
    """Unsaved token states of a memory."""
    row = TokenStates(namespace=namespace, memory_id=memory, embedder=embedder)
    row.packed, row.tokens, row.scale = matrix.to_bytes(), matrix.tokens, matrix.scale
    return row


def show_memories(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Make memories searchable again; the caller holds the namespace lock."""
    index_postings(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=True, written=namespace.writing)


def hide_memories(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Remove memories from search; their vectors stay for queries about the past."""
    remove_postings(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=False)
