"""Texts embedded once, in one batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from memories.providers.embedder import TokenEmbedder, embedder
from memories.providers.token_matrix import TokenMatrix
from scoring.term import Array


@dataclass(frozen=True, eq=False)
class EmbeddedTexts:
    """Texts with their vectors, and token states if the embedder provides them."""

    positions: dict[str, int]
    vectors: Array
    tokens: Sequence[TokenMatrix]

    @classmethod
    def embed(cls, name: str, texts: Iterable[str]) -> Self:
        """Embed each distinct text once, in one batch."""
        positions = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        if not positions:
            return cls({}, np.empty((0, 0)), ())
        model = embedder(name)
        tokens: Sequence[TokenMatrix] = ()
        if isinstance(model, TokenEmbedder):
            vectors, tokens = model.embed_with_tokens(list(positions))
        else:
            vectors = model.embed(list(positions))
        return cls(positions, np.asarray(vectors, dtype=float), tokens)

    def vector(self, text: str) -> Array:
        """The vector of a text."""
        vector: Array = self.vectors[self.positions[text]]
        return vector

    def states(self, text: str) -> TokenMatrix | None:
        """The token states of a text."""
        return self.tokens[self.positions[text]] if self.tokens else None
