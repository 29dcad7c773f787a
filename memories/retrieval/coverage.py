"""How much of a query's words each candidate holds."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
from django.db import connection

from memories.retrieval.query import Query
from memories.retrieval.reading import Reading
from memories.retrieval.retrievers.bm25 import HIDDEN
from memories.retrieval.scope import Scope
from scoring.term import Array

HELD = """
    SELECT p.memory_id, p.term FROM memories_posting p
    WHERE p.namespace_id = %(namespace)s AND p.memory_id = ANY(%(ids)s) AND p.term = ANY(%(terms)s)
"""


def coverages(query: Query, reading: Reading, scope: Scope, ids: Sequence[UUID]) -> Array:
    """The share of the query's words that a candidate holds, each word by how much it tells; unknown words count."""
    terms = list(reading.words.holding)
    covered = np.zeros(len(ids))
    if not terms or not ids:
        return covered
    hidden = f"UNION ALL SELECT id, lexeme FROM ({HIDDEN}) AS hidden(id, lexeme, frequency)" if scope.gone else ""
    values = {**scope.values, "ids": list(ids), "terms": terms, "config": query.namespace.text_config}
    with connection.cursor() as cursor:
        cursor.execute(f"{HELD} {hidden}", values)
        rows = cursor.fetchall()
    idfs = dict(zip(terms, reading.words.idfs(terms).tolist(), strict=True))
    places = {id: place for place, id in enumerate(ids)}
    for memory, term in rows:
        if memory in places and term in idfs:
            covered[places[memory]] += idfs[term]
    return np.asarray(covered / sum(idfs.values()))
