"""The words of a query, and how rare each is in its namespace."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Namespace
from scoring.bm25 import idf
from scoring.term import Array

WORD_PATTERN = re.compile(r"\w+")
# Whoever changes the postings of a word changes its statistics too: who wrote those last, and where, tells them apart.
VERSION = "known.documents || ' ' || known.xmin::text || known.ctid::text"
# The whole text, and each word by itself, so that its places are known; a stop word has no lexeme.
LEXEMES = f"""
    SELECT asked.place, w.lexeme, coalesce(known.documents, 0), {VERSION}
    FROM unnest(array_prepend(%(text)s::text, string_to_array(%(words)s, ' '))) WITH ORDINALITY AS asked(word, place)
    CROSS JOIN LATERAL unnest(to_tsvector(%(config)s::regconfig, asked.word)) w
    LEFT JOIN memories_termstatistic known ON known.namespace_id = %(namespace)s AND known.term = w.lexeme
"""
STATISTICS = (
    "SELECT documents, total_length, writes FROM memories_namespacestatistics WHERE namespace_id = %(namespace)s"
)


@dataclass(frozen=True)
class QueryTerms:
    """A query's lexemes with the memories that hold each, its words one by one, and the size of the namespace."""

    text: str
    documents: int
    average_length: float
    document_frequencies: Mapping[str, int]
    spans: tuple[tuple[int, int, frozenset[str]], ...]  # start and end of each word, and its lexemes
    versions: Mapping[str, str]  # of what is known of each lexeme that some memory holds

    @property
    def by_rarity(self) -> list[str]:
        """The lexemes that some memory holds, the rarest first."""
        return sorted(
            (term for term, count in self.document_frequencies.items() if count),
            key=lambda term: self.document_frequencies[term],
        )

    def idfs(self, terms: list[str]) -> Array:
        """How much each lexeme tells; one that no memory holds tells as much as the rarest that one can hold."""
        counts = np.array([max(self.document_frequencies[term], 1) for term in terms], dtype=float)
        return idf(float(max(self.documents, 1)), counts)

    @property
    def max_idf(self) -> float:
        """What the rarest word of a namespace of this size tells."""
        return float(idf(float(max(self.documents, 1)), np.array(1.0)))

    def restricted_to(self, text: str) -> "QueryTerms":
        """The words that are left in a shorter form of the text."""
        known = {self.text[a:b]: terms for a, b, terms in self.spans}
        found = (match.span() for match in WORD_PATTERN.finditer(text))
        spans = tuple((a, b, known.get(text[a:b], frozenset[str]())) for a, b in found)
        holding = {term: self.document_frequencies[term] for _, _, terms in spans for term in sorted(terms)}
        versions = {term: self.versions[term] for term in holding if term in self.versions}
        return QueryTerms(text, self.documents, self.average_length, holding, spans, versions)

    def lexemes_of(self, surface: str) -> frozenset[str]:
        """The lexemes of a part of the query."""
        said = (self._lexemes.get(word.casefold(), set()) for word in WORD_PATTERN.findall(surface))
        return frozenset[str]().union(*said)

    @cached_property
    def _lexemes(self) -> dict[str, set[str]]:
        """The lexemes of each word, whatever its case."""
        found: dict[str, set[str]] = {}
        for start, end, terms in self.spans:
            found.setdefault(self.text[start:end].casefold(), set()).update(terms)
        return found

    def token_weights(self, tokens: tuple[tuple[int, int], ...], stop_weight: float) -> Array:
        """How much each token of an embedder tells: what its word tells, parted among the word's tokens.

        A stop word tells little and a sign nothing; where nothing tells anything, all tell the same.
        """
        words = [self._at(*token) for token in tokens]
        counts = Counter(words)
        known = dict(zip(self.document_frequencies, self.idfs(list(self.document_frequencies)).tolist(), strict=True))
        tell = [max((known[term] for term in terms), default=stop_weight) for _, _, terms in self.spans]
        told = np.array([0.0 if word is None else tell[word] / counts[word] for word in words])
        return told if told.any() else np.ones(len(told))

    def _at(self, start: int, end: int) -> int | None:
        """The first word that reaches into a part of the text."""
        place = bisect_right(self.spans, start, key=lambda span: span[1])
        return place if place < len(self.spans) and self.spans[place][0] < end else None


def load_query_terms(
    namespace: Namespace, text: str, meanwhile: Callable[[], None] | None = None
) -> tuple[QueryTerms, int | None]:
    """Ask the namespace's own dictionary and statistics, and how often it was written to, in one journey."""
    found = [match.span() for match in WORD_PATTERN.finditer(text)]
    words = dict.fromkeys(text[a:b] for a, b in found)
    # As one text: a list would be spelt word by word.
    values = {
        "text": text,
        "words": " ".join(words),
        "config": namespace.text_config,
        "namespace": namespace.id,
    }
    statistics, rows = fetch_pipeline([Statement(STATISTICS, values), Statement(LEXEMES, values)], meanwhile)
    documents, length, writes = statistics[0] if statistics else (0, 0, None)
    by_place: dict[int, set[str]] = {}
    for place, lexeme, *_ in rows:
        by_place.setdefault(place, set()).add(lexeme)
    holding = {term: count for place, term, count, _ in rows if place == 1}
    versions = {term: version for place, term, _, version in rows if place == 1 and version}
    # A word by itself may be read otherwise than in its text; what is no lexeme of the text tells nothing of it.
    lexemes = {
        word: frozenset(by_place.get(place, set()) & holding.keys()) for place, word in enumerate(words, start=2)
    }
    spans = tuple((a, b, lexemes[text[a:b]]) for a, b in found)
    return QueryTerms(text, documents, length / documents if documents else 0.0, holding, spans, versions), writes
