"""The postings of a query's terms, read as arrays: packed blocks, and the rows that are not packed yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memories.db.pipeline import Rows, Statement, fetch_pipeline
from memories.models import Namespace
from memories.models.choices import ChunkLevel
from memories.models.text import PACKED_POSTING, POSTING
from memories.retrieval.scope import CandidateScope
from scoring.term import Array

POSTINGS = f"""
    SELECT term.position, p.packed
    FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS term(term, position) CROSS JOIN LATERAL (
        SELECT b.packed FROM memories_postingblock b
        WHERE b.namespace_id = %(namespace)s AND b.term = term.term AND b.level = ANY(%(levels)s)
        UNION ALL
        SELECT string_agg({PACKED_POSTING}, '') FROM memories_posting p
        WHERE p.namespace_id = %(namespace)s AND p.term = term.term AND p.level = ANY(%(levels)s)
    ) AS p WHERE p.packed IS NOT NULL
"""
# Memories hidden since `as_of` have lost their postings, but not their text. Their numbers are negative: their places
# in the list of the hidden.
HIDDEN_POSTINGS = f"""
    UNION ALL
    SELECT p.position, {PACKED_POSTING} FROM (
        SELECT array_position(%(terms)s::text[], w.lexeme) AS position, -array_position(%(hidden_since)s::uuid[], h.id)
            AS number, coalesce(cardinality(w.positions), 1) AS frequency, h.length
        FROM memories_memory h, unnest(to_tsvector(%(config)s::regconfig, h.content)) w
        WHERE h.namespace_id = %(namespace)s AND h.id = ANY(%(hidden_since)s::uuid[]) AND w.lexeme = ANY(%(terms)s)
    ) AS p
"""


@dataclass(frozen=True, eq=False)
class Postings:
    """One element per posting: which of the terms, and the document's number, frequency and length."""

    term: NDArray[np.int64]
    number: NDArray[np.int64]
    frequency: Array
    length: Array


def postings_statement(scope: CandidateScope, terms: Sequence[str], text_config: str) -> Statement:
    """All postings of some terms, of the scope's levels."""
    values: dict[str, Any] = {"terms": list(terms), "config": text_config}
    return Statement(POSTINGS + HIDDEN_POSTINGS if scope.hidden_since else POSTINGS, scope.values | values)


def postings_from_rows(rows: Rows) -> Postings:
    """The rows of `postings_statement` as arrays."""
    packed = np.frombuffer(b"".join([row[1] for row in rows]), POSTING)
    counts = [len(row[1]) // POSTING.itemsize for row in rows]
    return Postings(
        np.repeat(np.array([row[0] - 1 for row in rows], np.int64), counts),
        packed["number"].astype(np.int64),
        packed["frequency"].astype(float),
        packed["length"].astype(float),
    )


def documents_with_all(namespace: Namespace, terms: Sequence[str]) -> list[int]:
    """The numbers of the documents of any level that hold every term."""
    scope = CandidateScope("", "", {"namespace": namespace.id, "levels": list(ChunkLevel)})
    [rows] = fetch_pipeline([postings_statement(scope, terms, namespace.text_config)])
    numbers, counts = np.unique(postings_from_rows(rows).number, return_counts=True)
    holding: list[int] = numbers[counts == len(terms)].tolist()
    return holding
