"""Wordllama: the mean of a text's token vectors. Fast; the weights are inside the package."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import wordllama

from memories.db import counters
from memories.providers.embedder import Vectors
from memories.providers.pooling import unit_rows

BLOCK = 4096  # tokens per lookup, a kilobyte each


class WordLlamaEmbedder:
    """The embedder for bulk imports and small machines."""

    name = "wordllama-256"
    dimensions = 256
    limit = sys.maxsize  # a mean has no window

    def __init__(self) -> None:
        # Without cache_dir it would look for its tokenizer elsewhere, then download it.
        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, dim=self.dimensions, disable_download=True)
        self._words: Vectors = model.embedding
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()

    @counters.count_embeddings
    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text."""
        # Not the package's own embed: it pads a batch to its longest text, so a megabyte of text costs gigabytes.
        sums = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = self._tokenizer.encode(text, add_special_tokens=False).ids
            for start in range(0, len(ids), BLOCK):
                sums[row] += self._words[ids[start : start + BLOCK]].sum(axis=0)
        return unit_rows(sums)
