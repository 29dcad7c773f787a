"""Models that the package fastembed fetches and runs: `pip install "recall[fastembed]"`, on a connected machine."""

import sys
from collections.abc import Sequence

import numpy as np

from memories.db import counters
from memories.providers.embedder import EmbedderError, Vectors
from memories.providers.pooling import pieces, pooled


class FastEmbedEmbedder:
    """Any text model of fastembed's list; its name is fastembed/MODEL."""

    def __init__(self, name: str, *, threads: int) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as missing:
            raise EmbedderError(f'The embedder {name} needs fastembed: pip install "recall[fastembed]"') from missing
        self.name = name
        try:
            self._model = TextEmbedding(name.removeprefix("fastembed/"), threads=threads or None)
        except Exception as wrong:
            raise EmbedderError(f"The embedder {name} could not be loaded: {wrong}") from wrong
        self.dimensions = int(self._model.embedding_size)
        truncation = self._model.model.tokenizer.truncation
        self.limit = int(truncation["max_length"]) if truncation else sys.maxsize

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length one for each text."""
        # No token is shorter than a byte, and two places go to the end marks.
        parts = [(i, piece) for i, text in enumerate(texts) for piece in pieces(text, self.limit - 2)]
        rows = np.array(list(self._model.embed([piece for _, piece in parts])), dtype=np.float32)
        sizes = [max(1, len(piece.encode())) for _, piece in parts]
        return pooled(rows.reshape(-1, self.dimensions), sizes, [i for i, _ in parts], len(texts))
