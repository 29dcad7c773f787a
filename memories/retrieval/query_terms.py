"""The index terms of a query, with their statistics in the namespace."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from memories.db.pipeline import Rows, Statement, fetch_pipeline
from memories.models import Namespace
from scoring.bm25 import idf
from scoring.term import Array

WORD_PATTERN = re.compile(r"\w+")
# The lexemes of the whole text (place 1) and of each word alone, which locates them; a stop word has none.
LEXEMES = """
    SELECT word.place, w.lexeme, coalesce(statistic.documents, 0)
    FROM unnest(array_prepend(%(text)s::text, string_to_array(%(words)s, ' '))) WITH ORDINALITY AS word(text, place)
    CROSS JOIN LATERAL unnest(to_tsvector(%(config)s::regconfig, word.text)) w
    LEFT JOIN memories_termstatistic statistic ON statistic.namespace_id = %(namespace)s AND statistic.term = w.lexeme
"""
STATISTICS = """
    SELECT documents, total_length, ef_search, vector_index FROM memories_namespacestatistics
    WHERE namespace_id = %(namespace)s
"""


@dataclass(frozen=True)
class QueryTerms:
    """A query's lexemes with their document frequencies, its words, and the size of the namespace."""

    text: str
    documents: int
    average_length: float
    document_frequencies: Mapping[str, int]
    spans: tuple[tuple[int, int, frozenset[str]], ...]  # start and end of each word, and its lexemes
    stop_words: frozenset[str] = frozenset()  # case-folded
    ef_search: int = 0  # the namespace's measured HNSW search effort
    vector_index: str = ""  # its HNSW index

    @property
    def by_rarity(self) -> list[str]:
        """The lexemes that occur in some memory, rarest first."""
        return sorted(
            (term for term, count in self.document_frequencies.items() if count),
            key=lambda term: self.document_frequencies[term],
        )

    def idfs(self, terms: list[str]) -> Array:
        """The idf of lexemes; one that occurs in no memory counts as if it occurred in one."""
        counts = np.array([max(self.document_frequencies[term], 1) for term in terms], dtype=float)
        return idf(float(max(self.documents, 1)), counts)

    @property
    def max_idf(self) -> float:
        """The idf of a term that occurs in one memory."""
        return float(idf(float(max(self.documents, 1)), np.array(1.0)))

    def restricted_to(self, text: str) -> "QueryTerms":
        """The terms of a shortened text."""
        lexemes = {self.text[start:end]: terms for start, end, terms in self.spans}
        words = (match.span() for match in WORD_PATTERN.finditer(text))
        spans = tuple((start, end, lexemes.get(text[start:end], frozenset[str]())) for start, end in words)
        frequencies = {term: self.document_frequencies[term] for _, _, terms in spans for term in sorted(terms)}
        stop_words = self.stop_words & {text[start:end].casefold() for start, end, _ in spans}
        return replace(self, text=text, document_frequencies=frequencies, spans=spans, stop_words=stop_words)

    def lexemes_of(self, surface: str) -> frozenset[str]:
        """The lexemes of part of the query."""
        words = WORD_PATTERN.findall(surface)
        return frozenset[str]().union(*(self._lexemes.get(word.casefold(), set()) for word in words))

    @cached_property
    def _lexemes(self) -> dict[str, set[str]]:
        """The lexemes of each word, case-folded."""
        lexemes: dict[str, set[str]] = {}
        for start, end, terms in self.spans:
            lexemes.setdefault(self.text[start:end].casefold(), set()).update(terms)
        return lexemes

    def token_weights(self, tokens: tuple[tuple[int, int], ...], stop_weight: float) -> Array:
        """The weight of each embedder token: the idf of its word, divided among the word's tokens.

        A stop word has a small fixed weight and punctuation none; if all are 0, all weigh the same.
        """
        words = [self._word_at(*token) for token in tokens]
        counts = Counter(words)
        idfs = dict(zip(self.document_frequencies, self.idfs(list(self.document_frequencies)).tolist(), strict=True))
        word_weights = [max((idfs[term] for term in terms), default=stop_weight) for _, _, terms in self.spans]
        weights = np.array([0.0 if word is None else word_weights[word] / counts[word] for word in words])
        return weights if weights.any() else np.ones(len(weights))

    def _word_at(self, start: int, end: int) -> int | None:
        """The index of the first word that overlaps a span."""
        index = bisect_right(self.spans, start, key=lambda span: span[1])
        return index if index < len(self.spans) and self.spans[index][0] < end else None


def load_query_terms(namespace: Namespace, text: str) -> QueryTerms:
    """Parse a text by the namespace's text search configuration, and read the statistics of its lexemes."""
    return terms_from_rows(text, *fetch_pipeline(terms_statements(namespace, text)))


def terms_statements(namespace: Namespace, text: str) -> list[Statement]:
    """The namespace's statistics, and the lexemes of a text with theirs."""
    words = " ".join(distinct_words(text))
    values = {"text": text, "words": words, "config": namespace.text_config, "namespace": namespace.id}
    return [Statement(STATISTICS, values), Statement(LEXEMES, values)]


def distinct_words(text: str) -> list[str]:
    """The words of a text, each once."""
    return list(dict.fromkeys(WORD_PATTERN.findall(text)))


def terms_from_rows(text: str, statistics: Rows, rows: Rows) -> QueryTerms:
    """The terms of a text from the rows of `terms_statements`."""
    documents, total_length, ef_search, vector_index = statistics[0] if statistics else (0, 0, 0, "")
    words, by_place = distinct_words(text), dict[int, set[str]]()
    for place, lexeme, _ in rows:
        by_place.setdefault(place, set()).add(lexeme)
    frequencies = {lexeme: count for place, lexeme, count in rows if place == 1}
    # A word alone may be parsed differently than in its text: only lexemes of the text count.
    lexemes = {
        word: frozenset(by_place.get(place, set()) & frequencies.keys()) for place, word in enumerate(words, start=2)
    }
    word_spans = (match.span() for match in WORD_PATTERN.finditer(text))
    spans = tuple((start, end, lexemes[text[start:end]]) for start, end in word_spans)
    stop_words = frozenset(word.casefold() for place, word in enumerate(words, start=2) if place not in by_place)
    average_length = total_length / documents if documents else 0.0
    return QueryTerms(text, documents, average_length, frequencies, spans, stop_words, ef_search, vector_index)
