"""Packs the postings of large namespaces into blocks, which are read twenty times as fast as rows."""

from typing import Any

from django.db import connection, transaction

from memories.contracts.work import Work
from memories.models import Namespace, PostingBlock
from memories.models.text import PACKED_POSTING, POSTING
from memories.writing.lock import lock_namespace

MIN_PACKED = 64  # postings of a term that are worth a block
MAX_POSTINGS = 1_000  # of a new block; one that has fewer is extended
BATCH_SIZE = 100  # terms per transaction

FREQUENT_TERMS = """
    SELECT term FROM memories_posting WHERE namespace_id = %(namespace)s
    GROUP BY term HAVING count(*) >= %(min_packed)s ORDER BY term
"""
# A block and what is appended to it are in the order of the numbers: a document has a higher number than all before.
PACK_SQL = f"""
    WITH unpacked AS (
        DELETE FROM memories_posting WHERE namespace_id = %(namespace)s AND term = ANY(%(terms)s)
        RETURNING term, level, number, frequency, length
    ),
    numbered AS (
        SELECT *, (row_number() OVER (PARTITION BY term, level ORDER BY number) - 1) / %(max_postings)s AS part
        FROM unpacked
    ),
    grouped AS (
        SELECT p.term, p.level, p.part, min(p.number) AS first, max(p.number) AS last,
            string_agg({PACKED_POSTING}, '' ORDER BY p.number) AS packed
        FROM numbered p GROUP BY p.term, p.level, p.part
    ),
    latest AS (
        SELECT DISTINCT ON (term, level) term, level, first, octet_length(packed) AS bytes FROM memories_postingblock
        WHERE namespace_id = %(namespace)s AND term = ANY(%(terms)s) ORDER BY term, level, first DESC
    ),
    extended AS (
        UPDATE memories_postingblock block SET last = grouped.last, packed = block.packed || grouped.packed
        FROM grouped JOIN latest USING (term, level)
        WHERE block.namespace_id = %(namespace)s AND block.term = latest.term AND block.level = latest.level
            AND block.first = latest.first AND grouped.part = 0 AND latest.bytes < %(max_bytes)s
        RETURNING block.term, block.level
    )
    INSERT INTO memories_postingblock (namespace_id, term, level, first, last, packed)
    SELECT %(namespace)s, term, level, first, last, packed FROM grouped
    WHERE part > 0 OR (term, level) NOT IN (SELECT term, level FROM extended)
"""


def pack_postings(work: Work) -> None:
    """Pack the postings of frequent terms, in small transactions."""
    terms = frequent_terms(work.namespace)
    for start in range(0, len(terms), BATCH_SIZE):
        batch = terms[start : start + BATCH_SIZE]
        with transaction.atomic():
            lock_namespace(work.namespace)
            pack_terms(work.namespace, batch)
            work.record_progress(start + len(batch), len(terms), packed=len(batch))


def frequent_terms(namespace: Namespace) -> list[str]:
    """The terms with enough unpacked postings for a block."""
    with connection.cursor() as cursor:
        cursor.execute(FREQUENT_TERMS, {"namespace": namespace.id, "min_packed": MIN_PACKED})
        return [term for (term,) in cursor.fetchall()]


def lacks_blocks(namespace: Namespace) -> bool:
    """Whether nothing is packed although terms are frequent: the namespace was large before there were blocks."""
    return not PostingBlock.objects.within(namespace).exists() and bool(frequent_terms(namespace))


def pack_terms(namespace: Namespace, terms: list[str]) -> None:
    """Move all postings of some terms into blocks; the caller holds the namespace lock."""
    values: dict[str, Any] = {"namespace": namespace.id, "terms": terms, "max_postings": MAX_POSTINGS}
    with connection.cursor() as cursor:
        cursor.execute(PACK_SQL, values | {"max_bytes": MAX_POSTINGS * POSTING.itemsize})
