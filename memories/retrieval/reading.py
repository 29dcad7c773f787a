"""A query as it is understood: whom it names, when, in which words, and what it means as a vector."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memories.language.entities import Found, entities_in
from memories.language.loading import load
from memories.language.resolution import PERSON, Registry
from memories.models import Namespace
from memories.providers.embedder import TokenEmbedder, embedder
from memories.retrieval.cues import Window, intent, type_cue, window
from memories.retrieval.query import Query
from memories.retrieval.words import Words, words_of
from scoring.specificity import TEMPORAL_PRECISION, TYPE_CUE_STRENGTH, entity_density, lexical_rarity
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class Reading:
    """What a query says, before anybody is asked."""

    text: str
    named: Sequence[Found]
    window: Window | None
    words: Words
    intent: str
    bare: str  # what is embedded: the text without the people it names
    embedder: str
    vector: Array
    tokens: Array | None  # their states, None where the embedder knows of no tokens
    weights: Array  # of the tokens

    @property
    def parts(self) -> dict[str, float]:
        """The four parts of specificity."""
        terms = list(self.words.holding)
        idfs = np.minimum(self.words.idfs(terms), self.words.highest)
        return {
            "entity_density": entity_density(len(self.named), len(self.words.spans)),
            "temporal_precision": TEMPORAL_PRECISION[self.window.cue if self.window else "none"],
            "lexical_rarity": lexical_rarity(idfs, self.words.highest),
            "type_cue": TYPE_CUE_STRENGTH[type_cue(self.text)],
        }


def read(query: Query) -> Reading:
    """Find names, times and words, and embed the rest."""
    namespace, text = query.namespace, query.text
    registry = load(namespace)
    named = entities_in(text, registry)
    words = words_of(namespace, text)
    bare = without_people(text, named, registry)
    vector, tokens, weights = embedded(namespace, bare, words_of(namespace, bare) if bare != text else words)
    return Reading(
        text=text,
        named=named,
        window=window(text, query.now),
        words=words,
        intent=intent(text),
        bare=bare,
        embedder=namespace.embedder,
        vector=vector,
        tokens=tokens,
        weights=weights,
    )


def without_people(text: str, named: Sequence[Found], registry: Registry) -> str:
    """Take out the people that a query names: words and the graph find them, and a vector is drawn away by them.

    A text of nothing but names stays as it is.
    """
    people = [one.surface for one in named if registry.kinds[one.entity_id] == PERSON]
    if not people:
        return text
    names = "|".join(re.escape(name) for name in sorted(people, key=len, reverse=True))
    bare = " ".join(re.sub(rf"(?<!\w)(?:{names})(?:['’]s)?(?!\w)", " ", text).split())
    return bare if re.search(r"\w", bare) else text


def embedded(namespace: Namespace, text: str, words: Words) -> tuple[Array, Array | None, Array]:
    """The vector of a text, the states of its tokens, and how much each of them tells."""
    model = embedder(namespace.embedder)
    if not isinstance(model, TokenEmbedder):
        return np.asarray(model.embed([text])[0], dtype=float), None, np.empty(0)
    vectors, (matrix,) = model.embed_with_tokens([text])
    return np.asarray(vectors[0], dtype=float), np.asarray(matrix.vectors, dtype=float), words.weights(matrix.spans)
