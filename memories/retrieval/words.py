"""The words of a query, and how rare each is in its namespace."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db import connection

from memories.models import Namespace
from scoring.bm25 import idf
from scoring.term import Array

WORD = re.compile(r"\S+")
# Each word by itself, so that its place in the text is known; one may hold several lexemes, or be a stop word.
LEXEMES = """
    SELECT asked.place, w.lexeme, coalesce(known.documents, 0)
    FROM unnest(%(words)s::text[]) WITH ORDINALITY AS asked(word, place)
    CROSS JOIN LATERAL unnest(to_tsvector(%(config)s::regconfig, asked.word)) w
    LEFT JOIN memories_termstatistic known ON known.namespace_id = %(namespace)s AND known.term = w.lexeme
"""
STATISTICS = "SELECT documents, total_length FROM memories_namespacestatistics WHERE namespace_id = %s"


@dataclass(frozen=True)
class Words:
    """A query's lexemes with the memories that hold each, where they stand, and the size of the namespace."""

    documents: int
    average_length: float
    holding: Mapping[str, int]
    spans: tuple[tuple[int, int, frozenset[str]], ...]  # start and end of each word, and its lexemes

    @property
    def terms(self) -> list[str]:
        """The lexemes that some memory holds, the rarest first."""
        return sorted((term for term, count in self.holding.items() if count), key=lambda term: self.holding[term])

    def idfs(self, terms: list[str]) -> Array:
        """How much each lexeme tells; one that no memory holds tells as much as the rarest that one can hold."""
        counts = np.array([max(self.holding[term], 1) for term in terms], dtype=float)
        return idf(float(max(self.documents, 1)), counts)

    @property
    def highest(self) -> float:
        """What the rarest word of a namespace of this size tells."""
        return float(idf(float(max(self.documents, 1)), np.array(1.0)))

    def weights(self, tokens: tuple[tuple[int, int], ...]) -> Array:
        """How much each token of an embedder tells: as much as the rarest lexeme of its word, a stop word nothing.

        Where all words are stop words, all tell the same.
        """
        known = {term: float(rare) for term, rare in zip(self.holding, self.idfs(list(self.holding)), strict=True)}
        rarest = [(start, end, max(map(known.__getitem__, terms), default=0.0)) for start, end, terms in self.spans]
        told = [max((rare for start, end, rare in rarest if start < b and a < end), default=0.0) for a, b in tokens]
        return np.array(told) if any(told) else np.ones(len(told))


def words_of(namespace: Namespace, text: str) -> Words:
    """Ask the namespace's own dictionary and statistics; two questions."""
    found = [(match.start(), match.end()) for match in WORD.finditer(text)]
    with connection.cursor() as cursor:
        cursor.execute(STATISTICS, [namespace.id])
        documents, length = cursor.fetchone() or (0, 0)
        words = [text[a:b] for a, b in found]
        cursor.execute(LEXEMES, {"words": words, "config": namespace.text_config, "namespace": namespace.id})
        rows = cursor.fetchall()
    lexemes: dict[int, set[str]] = {}
    for place, lexeme, _ in rows:
        lexemes.setdefault(place - 1, set()).add(lexeme)
    spans = tuple((a, b, frozenset(lexemes.get(place, ()))) for place, (a, b) in enumerate(found))
    return Words(documents, length / documents if documents else 0.0, {term: count for _, term, count in rows}, spans)
