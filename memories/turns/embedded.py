"""Texts of conversations as one embedder sees them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from memories.providers.embedder import TokenEmbedder, embedder
from memories.providers.token_matrix import TokenMatrix
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class Embedded:
    """Texts with their vectors, and their tokens where the embedder knows of any."""

    places: dict[str, int]
    vectors: Array
    tokens: Sequence[TokenMatrix]

    @classmethod
    def of(cls, name: str, texts: Iterable[str]) -> Self:
        """Embed each text once, all in one batch."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        if not places:
            return cls({}, np.empty((0, 0)), ())
        model = embedder(name)
        tokens: Sequence[TokenMatrix] = ()
        if isinstance(model, TokenEmbedder):
            vectors, tokens = model.embed_with_tokens(list(places))
        else:
            vectors = model.embed(list(places))
        return cls(places, np.asarray(vectors, dtype=float), tokens)

    def vector(self, text: str) -> Array:
        """The vector of a text."""
        vector: Array = self.vectors[self.places[text]]
        return vector

    def states(self, text: str) -> TokenMatrix | None:
        """The states of a text's tokens."""
        return self.tokens[self.places[text]] if self.tokens else None
