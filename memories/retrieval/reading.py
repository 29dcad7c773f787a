"""A query as it is understood: whom it names, when, in which words, and what it means as a vector."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

import numpy as np
from django.db import connection
from pgvector import Vector

from memories.language.entities import Found, each_once, meant
from memories.language.loading import after, last_held
from memories.language.resolution import PERSON
from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.retrieval.cues import Window, intent, type_cue, window
from memories.retrieval.expecting import Expectation, expected
from memories.retrieval.query import Query
from memories.retrieval.words import Words, words_of
from scoring.specificity import TEMPORAL_PRECISION, TYPE_CUE_STRENGTH, entity_density, lexical_rarity
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class Reading:
    """What a query says, before anybody is asked."""

    text: str
    named: Sequence[Found]
    people: frozenset[UUID]  # among those it names
    window: Window | None
    words: Words
    intent: str
    bare: str  # what is embedded: the text without the people it names
    embedder: str
    vector: Array
    tokens: Array | None  # their states, None where the embedder knows of no tokens
    spans: tuple[tuple[int, int], ...]  # where the tokens stand
    bare_words: Words
    embedding_ms: float  # how long it took to embed
    writes: int | None  # how often the namespace had been written to; none inside a transaction

    @cached_property
    def expects(self) -> Expectation:
        """What an answer must be of and hold; who does not match words never asks for it."""
        return expected(self.text, self.named, self.people, self.words)

    @cached_property
    def sent(self) -> Vector:
        """What it means, as the database is asked about it."""
        return Vector(self.vector)

    @cached_property
    def parts(self) -> dict[str, float]:
        """The four parts of specificity."""
        terms = list(self.words.holding)
        idfs = np.minimum(self.words.idfs(terms), self.words.highest)
        return {
            "entity_density": entity_density(len(self.named), len(self.text.split())),
            "temporal_precision": TEMPORAL_PRECISION[self.window.cue if self.window else "none"],
            "lexical_rarity": lexical_rarity(idfs, self.words.highest),
            "type_cue": TYPE_CUE_STRENGTH[type_cue(self.text)],
        }

    def asked_words(self) -> list[tuple[list[int], float]]:
        """The words that say what is asked for, neither common nor names: the tokens of each, and what it tells.

        An identifier says it all, and how much is said by the kind of the answer.
        """
        if self.expects.coded:
            return []
        # Of a name of several words that nobody registered, memories may hold each word and never the name.
        said = (*(one.surface for one in self.named), *(name for name in self.expects.said if " " not in name), "much")
        names = {term for surface in said for term in self.words.lexemes_of(surface)}
        told = dict(zip(self.words.holding, self.words.idfs(list(self.words.holding)).tolist(), strict=True))
        asked = []
        for start, end, terms in self.bare_words.spans:
            if not terms or terms & names:
                continue
            if tokens := [place for place, (a, b) in enumerate(self.spans) if start < b and a < end]:
                asked.append((tokens, max(told.get(term, self.words.highest) for term in terms)))
        return asked

    def words_weights(self, stop_weight: float) -> Array:
        """How much each token of what is embedded tells."""
        return self.bare_words.weights(self.spans, stop_weight)


def read(query: Query) -> Reading:
    """Find names, times and words, and embed the rest."""
    namespace, text = query.namespace, query.text
    known, guessed = last_held(namespace), list[Found]()
    when: Window | None = None

    def meanwhile() -> None:
        nonlocal when
        guessed.extend(meant(text, known) if known else ())
        when = window(text, query.now)

    words, writes = words_of(namespace, text, meanwhile)
    registry = after(namespace, writes)
    forms = guessed if registry is known else meant(text, registry)
    named = each_once(forms)
    people = frozenset(one.entity_id for one in forms if registry.kinds[one.entity_id] == PERSON)
    bare = without(text, [one.surface for one in forms if one.entity_id in people])
    began = time.perf_counter()
    vector, tokens, spans = embedded(namespace, bare)
    embedding_ms = 1000 * (time.perf_counter() - began)
    return Reading(
        text=text,
        named=named,
        people=people,
        window=when,
        words=words,
        intent=intent(text),
        bare=bare,
        embedder=namespace.embedder,
        vector=vector,
        tokens=tokens,
        spans=spans,
        bare_words=words if bare == text else words.left_in(bare),
        embedding_ms=embedding_ms,
        writes=None if connection.in_atomic_block else writes,
    )


def without(text: str, people: Sequence[str]) -> str:
    """Take out the people that a query names: words and the graph find them, and a vector is drawn away by them.

    A text of nothing but names stays as it is.
    """
    if not people:
        return text
    names = "|".join(re.escape(name) for name in sorted(people, key=len, reverse=True))
    bare = " ".join(re.sub(rf"(?<!\w)(?:{names})(?:['’]s)?(?!\w)", " ", text).split())
    return bare if re.search(r"\w", bare) else text


def embedded(namespace: Namespace, text: str) -> tuple[Array, Array | None, tuple[tuple[int, int], ...]]:
    """The vector of a text, the states of its tokens, and where those stand."""
    model = embedder(namespace.embedder)
    if not isinstance(model, TokenEmbedder):
        return np.asarray(model.embed([text])[0], dtype=float), None, ()
    vectors, (matrix,) = model.embed_with_tokens([text])
    return np.asarray(vectors[0], dtype=float), np.asarray(matrix.vectors, dtype=float), matrix.spans
