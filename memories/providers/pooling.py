"""Long texts in pieces, and the vectors of their pieces back in one."""

from collections.abc import Iterator, Sequence

import numpy as np

from memories.providers.embedder import Vectors


def unit(rows: Vectors) -> Vectors:
    """Rows scaled to length one; a row of zeros, which has no direction, gets the same one everywhere."""
    rows = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, rows / np.where(lengths > 0, lengths, 1), rows.shape[1] ** -0.5).astype(np.float32)


def pooled(vectors: Vectors, weights: Sequence[int], owners: Sequence[int], count: int) -> Vectors:
    """One vector of length one for each of `count` texts: the mean of its pieces, weighted."""
    sums = np.zeros((count, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, np.asarray(owners, dtype=np.intp), vectors * np.asarray(weights, dtype=np.float32)[:, None])
    return unit(sums)


def pieces(text: str, limit: int) -> Iterator[str]:
    """A text in parts of at most `limit` bytes, ended at blanks where there are any; one part for an empty text."""
    data, start = text.encode(), 0
    while len(data) - start > limit:
        end = data.rfind(b" ", start + 1, start + limit + 1)
        if end < 0:
            end = start + limit
            while data[end] & 0xC0 == 0x80:  # inside a character
                end -= 1
        yield data[start:end].decode()
        start = end
    yield data[start:].decode()
