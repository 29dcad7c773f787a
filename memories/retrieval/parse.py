"""Parses a query: entities, time window, index terms, intent and embedding."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

import numpy as np
from pgvector import Vector

from memories.db.pipeline import fetch_pipeline
from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.retrieval.expected_answer import ExpectedAnswer, expected_answer
from memories.retrieval.query import Query
from memories.retrieval.query_terms import QueryTerms, terms_from_rows, terms_statements
from memories.text.dates import date_mentions
from memories.text.emphasis import RECENT, Emphasis, any_of_words, deciding_words, query_emphasis
from memories.text.entity_mentions import EntityMatch, best_match_per_entity
from memories.text.entity_registry import PERSON
from memories.text.intervals import TimeInterval
from memories.text.name_index import names_from_rows, names_statement
from scoring.signals import INTENTS
from scoring.specificity import (
    TEMPORAL_PRECISION,
    TYPE_CUE_STRENGTH,
    TemporalCue,
    TypeCue,
    entity_density,
    lexical_rarity,
)
from scoring.term import Array

EXPLICIT_TYPE = any_of_words("entit(?:y|ies)", "events?", "facts?", "preferences?", "relations?", "relationships?")
IMPLIED_TYPE = any_of_words(
    *("prefer(?:s|red)?", "likes?", "loves?", "hates?", "favou?rites?", "enjoys?", "wants?"),
    *("when", "happen(?:s|ed)?", "who", "whom", "reports? to", "works? (?:with|for)", "knows?", "married"),
)
# How many days before now a vague time starts.
VAGUE_TIMES = {
    any_of_words("recently", "lately", "these days", "nowadays", "of late"): 30,
    any_of_words("a while ago", "back then"): 365,
}
BACKGROUND = any_of_words(
    "history", "background", "overview", "in general", "usually", "always", "over the years", "ever"
)


@dataclass(frozen=True)
class TimeWindow:
    """The time a query refers to, and how precisely."""

    interval: TimeInterval
    cue: TemporalCue


@dataclass(frozen=True)
class Intent:
    """How much a query cares for what is recent, and the words that say so."""

    level: str
    words: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class ParsedQuery:
    """What was recognised in a query, and its embedding."""

    text: str
    entities: Sequence[EntityMatch]
    people: frozenset[UUID]  # among the entities
    window: TimeWindow | None
    terms: QueryTerms
    intent: Intent
    emphasis: Emphasis
    embedded_text: str  # the text without the names of people
    embedder: str
    vector: Array
    tokens: Array | None  # token states, None if the embedder has none
    spans: tuple[tuple[int, int], ...]  # start and end of each token
    embedded_terms: QueryTerms
    embedding_ms: float

    @cached_property
    def expected(self) -> ExpectedAnswer:
        """What the query expects of an answer."""
        return expected_answer(self.text, self.entities, self.people, self.terms)

    @cached_property
    def vector_param(self) -> Vector:
        """The vector as an SQL parameter."""
        return Vector(self.vector)

    @cached_property
    def specificity_parts(self) -> dict[str, float]:
        """The four parts of specificity."""
        terms = self.terms
        idfs = terms.idfs(terms.by_rarity)
        return {
            "entity_density": entity_density(len(self.entities), len(self.text.split())),
            "temporal_precision": TEMPORAL_PRECISION[self.window.cue if self.window else "none"],
            "lexical_rarity": lexical_rarity(idfs, terms.max_idf, stop_words=len(terms.stop_words)),
            "type_cue": TYPE_CUE_STRENGTH[type_cue(self.text)],
        }

    def content_tokens(self) -> list[tuple[list[int], float]]:
        """The tokens of each content word, with its idf; no stop words or names, and none beside an identifier."""
        if self.expected.has_identifier:
            return []
        # The words of a longer unregistered name count: they also occur apart. "much" belongs to the answer type.
        names = (
            *(match.surface for match in self.entities),
            *(name for name in self.expected.unregistered if " " not in name),
            "much",
        )
        name_terms = {term for surface in names for term in self.terms.lexemes_of(surface)}
        lexemes = list(self.terms.document_frequencies)
        idfs = dict(zip(lexemes, self.terms.idfs(lexemes).tolist(), strict=True))
        content = []
        for start, end, terms in self.embedded_terms.spans:
            if not terms or terms & name_terms:
                continue
            if tokens := [token for token, (first, last) in enumerate(self.spans) if start < last and first < end]:
                content.append((tokens, max(idfs.get(term, self.terms.max_idf) for term in terms)))
        return content

    def token_weights(self, stop_weight: float) -> Array:
        """The weight of each token of the embedded text in MaxSim."""
        return self.embedded_terms.token_weights(self.spans, stop_weight)


def understand(query: Query) -> ParsedQuery:
    """Find entities, time window and terms, and embed the rest."""
    namespace, text = query.namespace, query.text
    *term_rows, name_rows = fetch_pipeline([*terms_statements(namespace, text), names_statement(namespace, [text])])
    terms = terms_from_rows(text, *term_rows)
    names = names_from_rows(namespace, name_rows, text)
    matches = names.mentions_of(text)
    people = frozenset(match.entity_id for match in matches if names.registry.kinds[match.entity_id] == PERSON)
    embedded_text = remove_names(text, [match.surface for match in matches if match.entity_id in people])
    began = time.perf_counter()
    vector, tokens, spans = embed_query(namespace, embedded_text)
    embedding_ms = 1000 * (time.perf_counter() - began)
    return ParsedQuery(
        text=text,
        entities=best_match_per_entity(matches),
        people=people,
        window=find_time_window(text, query.now),
        terms=terms,
        intent=recency_intent(text),
        emphasis=query_emphasis(text),
        embedded_text=embedded_text,
        embedder=namespace.embedder,
        vector=vector,
        tokens=tokens,
        spans=spans,
        embedded_terms=terms if embedded_text == text else terms.restricted_to(embedded_text),
        embedding_ms=embedding_ms,
    )


def type_cue(text: str) -> TypeCue:
    """How clearly a query names a memory type."""
    return "explicit" if EXPLICIT_TYPE.search(text) else "implied" if IMPLIED_TYPE.search(text) else "none"


def find_time_window(text: str, now: datetime) -> TimeWindow | None:
    """The first time a query names: a day is exact, “last week” relative, “in 2024” or “recently” vague."""
    for mention in date_mentions(text, now):
        return TimeWindow(mention.when, mention.cue)
    for pattern, days in VAGUE_TIMES.items():
        if pattern.search(text):
            return TimeWindow(TimeInterval(now - timedelta(days=days), now), "vague")
    return None


def recency_intent(text: str) -> Intent:
    """HIGH for queries about now, LOW for background, else MEDIUM."""
    high, medium, low = INTENTS
    found = ((level, deciding_words(text, [pattern])) for level, pattern in ((high, RECENT), (low, BACKGROUND)))
    return next((Intent(level, words) for level, words in found if words), Intent(medium))


def remove_names(text: str, people: Sequence[str]) -> str:
    """The text without names of people, which distract the embedding; BM25 and the entity graph find them.

    A text of names alone is unchanged.
    """
    if not people:
        return text
    names = "|".join(re.escape(name) for name in sorted(people, key=len, reverse=True))
    remaining = " ".join(re.sub(rf"(?<!\w)(?:{names})(?:['’]s)?(?!\w)", " ", text).split())
    return remaining if re.search(r"\w", remaining) else text


def embed_query(namespace: Namespace, text: str) -> tuple[Array, Array | None, tuple[tuple[int, int], ...]]:
    """The vector of a text, its token states and their spans."""
    model = embedder(namespace.embedder)
    if not isinstance(model, TokenEmbedder):
        return np.asarray(model.embed([text])[0], dtype=float), None, ()
    vectors, (matrix,) = model.embed_with_tokens([text])
    return np.asarray(vectors[0], dtype=float), np.asarray(matrix.vectors, dtype=float), matrix.spans
