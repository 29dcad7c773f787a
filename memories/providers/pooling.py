"""Pooling: a long text is embedded in pieces, and its vector is their weighted mean."""

from collections.abc import Iterator, Sequence

import numpy as np

from memories.providers.embedder import Vectors


def unit_rows(rows: Vectors) -> Vectors:
    """Rows scaled to length one; a zero row becomes the uniform vector."""
    rows = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, rows / np.where(lengths > 0, lengths, 1), rows.shape[1] ** -0.5).astype(np.float32)


def pool_pieces(vectors: Vectors, weights: Sequence[int], owners: Sequence[int], count: int) -> Vectors:
    """A unit vector for each of `count` texts: the weighted mean of its pieces."""
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, np.asarray(owners, dtype=np.intp), vectors * np.asarray(weights, dtype=np.float32)[:, None])
    return unit_rows(sums)


def split_pieces(text: str, limit: int) -> Iterator[str]:
    """Split a text into pieces of at most `limit` bytes, at blanks if possible; an empty text is one piece."""
    data, start = text.encode(), 0
    while len(data) - start > limit:
        end = data.rfind(b" ", start + 1, start + limit + 1)
        if end < 0:
            end = start + limit
            while data[end] & 0xC0 == 0x80:  # inside a UTF-8 character
                end -= 1
        yield data[start:end].decode()
        start = end
    yield data[start:].decode()
