"""Models that fastembed downloads and runs: `pip install "recall[fastembed]"`."""

import sys
from collections.abc import Sequence

import numpy as np

from memories.db import counters
from memories.providers.embedder import EmbedderError, Vectors
from memories.providers.pooling import pool_pieces, split_pieces


class FastEmbedEmbedder:
    """Any text model that fastembed supports, named fastembed/MODEL."""

    def __init__(self, name: str, *, threads: int) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise EmbedderError(f'The embedder {name} needs fastembed: pip install "recall[fastembed]"') from error
        self.name = name
        try:
            self._model = TextEmbedding(name.removeprefix("fastembed/"), threads=threads or None)
        except Exception as error:
            raise EmbedderError(f"The embedder {name} could not be loaded: {error}") from error
        self.dimensions = int(self._model.embedding_size)
        truncation = self._model.model.tokenizer.truncation
        self.limit = int(truncation["max_length"]) if truncation else sys.maxsize

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""
        # A token is at least one byte, and two positions go to the special tokens.
        parts = [(i, piece) for i, text in enumerate(texts) for piece in split_pieces(text, self.limit - 2)]
        rows = np.array(list(self._model.embed([piece for _, piece in parts])), dtype=np.float32)
        sizes = [max(1, len(piece.encode())) for _, piece in parts]
        return pool_pieces(rows.reshape(-1, self.dimensions), sizes, [i for i, _ in parts], len(texts))
