"""What a search reads: postings, term statistics, vectors and token states."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from memories.models import Memory, MemoryVector, Namespace, TokenStates
from memories.models.choices import ChunkLevel, Route
from memories.models.text import POSTING
from memories.providers.token_matrix import TokenMatrix
from scoring.term import Array

LEXEMES_SQL = """
    SELECT m.namespace_id, m.id, m.level, w.lexeme, coalesce(cardinality(w.positions), 1) AS frequency
    FROM memories_memory m, unnest(to_tsvector(%(config)s::regconfig, m.content)) w
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s)
"""
# Whoever holds the namespace's lock gives the next numbers.
INDEX_SQL = f"""
    WITH words AS ({LEXEMES_SQL}),
    numbered AS (
        SELECT last_document + row_number() OVER (ORDER BY id) AS number, id
        FROM memories_namespacestatistics, unnest(%(ids)s::uuid[]) AS id WHERE namespace_id = %(namespace)s
    ),
    documents AS (
        INSERT INTO memories_document (namespace_id, number, memory_id)
        SELECT %(namespace)s, number, id FROM numbered
    ),
    posted AS (
        INSERT INTO memories_posting (namespace_id, term, memory_id, number, frequency, length, level)
        SELECT namespace_id, lexeme, id, number, frequency, sum(frequency) OVER (PARTITION BY id), level
        FROM words JOIN numbered USING (id) ORDER BY lexeme, id
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
    SET documents = documents + %(count)s, last_document = last_document + %(count)s,
        total_length = total_length + (SELECT coalesce(sum(frequency), 0) FROM words)
    WHERE namespace_id = %(namespace)s
"""
LENGTHS_SQL = """
    SELECT (SELECT coalesce(sum(coalesce(cardinality(w.positions), 1)), 0)
        FROM unnest(to_tsvector(%(config)s::regconfig, text)) w)
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS t(text, ordinal) ORDER BY ordinal
"""
REMOVE_DOCUMENTS_SQL = """
    DELETE FROM memories_document WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s) RETURNING number
"""
# Only large namespaces have blocks; those of the memories' own terms alone can hold their numbers.
BLOCKS_SQL = f"""
    SELECT b.term, b.level, b.first, b.packed FROM memories_postingblock b
    WHERE b.namespace_id = %(namespace)s AND b.term IN (SELECT lexeme FROM ({LEXEMES_SQL}) AS words)
        AND EXISTS (SELECT 1 FROM unnest(%(numbers)s::bigint[]) AS number WHERE number BETWEEN b.first AND b.last)
"""
REPLACE_BLOCKS_SQL = """
    UPDATE memories_postingblock b SET packed = kept.packed
    FROM unnest(%(terms)s::text[], %(levels)s::text[], %(firsts)s::bigint[], %(packed)s::bytea[])
        AS kept(term, level, first, packed)
    WHERE b.namespace_id = %(namespace)s AND b.term = kept.term AND b.level = kept.level AND b.first = kept.first
"""
# Postings that were in blocks are given as their terms and frequencies.
UNINDEX_SQL = """
    WITH unpacked AS (
        DELETE FROM memories_posting WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s)
        RETURNING term, frequency
    ),
    removed AS (
        SELECT term, frequency FROM unpacked
        UNION ALL SELECT * FROM unnest(%(terms)s::text[], %(frequencies)s::int[])
    ),
    predicates AS (
        DELETE FROM memories_predicateposting WHERE namespace_id = %(namespace)s AND memory_id = ANY(%(ids)s)
        RETURNING term
    ),
    counted AS (
        UPDATE memories_termstatistic known SET documents = known.documents - counts.documents
        FROM (SELECT term, count(*) AS documents FROM removed GROUP BY term ORDER BY term) counts
        WHERE known.namespace_id = %(namespace)s AND known.term = counts.term
    )
    UPDATE memories_namespacestatistics
    SET documents = documents - %(count)s,
        total_length = total_length - (SELECT coalesce(sum(frequency), 0) FROM removed)
    WHERE namespace_id = %(namespace)s RETURNING (SELECT count(*) FROM removed) + (SELECT count(*) FROM predicates)
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
    if not ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(INDEX_SQL, memory_values(namespace, ids))


def remove_postings(namespace: Namespace, ids: Sequence[UUID]) -> int:
    """Remove the postings of memories that are no longer active, and count them; the caller holds the lock."""
    if not ids:
        return 0
    values = memory_values(namespace, ids)
    with connection.cursor() as cursor:
        cursor.execute(REMOVE_DOCUMENTS_SQL, values)
        numbers = [number for (number,) in cursor.fetchall()]
        terms, frequencies = remove_from_blocks(values | {"numbers": numbers})
        cursor.execute(UNINDEX_SQL, values | {"terms": terms, "frequencies": frequencies})
        count: int = cursor.fetchone()[0]
    return count


def remove_from_blocks(values: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Take documents out of the blocks of their terms; the terms and frequencies of what was removed."""
    removed, kept = list[tuple[str, int]](), list[tuple[str, str, int, bytes]]()
    with connection.cursor() as cursor:
        cursor.execute(BLOCKS_SQL, values)
        for term, level, first, packed in cursor.fetchall():
            postings = np.frombuffer(packed, POSTING)
            gone = np.isin(postings["number"], values["numbers"])
            if gone.any():
                removed += [(term, frequency) for frequency in postings["frequency"][gone].tolist()]
                kept.append((term, level, first, postings[~gone].tobytes()))
        if kept:
            columns = zip(("terms", "levels", "firsts", "packed"), map(list, zip(*kept, strict=True)), strict=True)
            cursor.execute(REPLACE_BLOCKS_SQL, {**values, **dict(columns)})
    return [term for term, _ in removed], [frequency for _, frequency in removed]


def memory_values(namespace: Namespace, ids: Sequence[UUID]) -> dict[str, Any]:
    """The values of statements about some memories."""
    return {"namespace": namespace.id, "ids": list(ids), "count": len(ids), "config": namespace.text_config}


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


def hide_memories(namespace: Namespace, ids: Sequence[UUID]) -> int:
    """Remove memories from search, and count their postings; their vectors stay for queries about the past."""
    removed = remove_postings(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=False)
    return removed
