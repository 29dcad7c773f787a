"""Vectors of candidates, straight into arrays."""

from collections.abc import Sequence
from hashlib import blake2b
from uuid import UUID

import numpy as np

from memories.providers.embedder import embedder
from memories.retrieval.facts import Facts
from scoring.term import Array

HEAD = 4  # bytes before the numbers of a vector
MARK = 8  # bytes
MISSING = bytes(MARK)


def vectors_of(facts: Facts, stored: Sequence[tuple[UUID, bytes]]) -> tuple[Array, list[bytes]]:
    """The vectors of whole texts in the order of the ids, and a mark by which each is known again.

    One that is missing is marked as such, and points nowhere in particular.
    """
    dimensions = embedder(facts.embedder).dimensions
    vectors = np.zeros((len(facts), dimensions))
    vectors[:, 0] = 1.0
    marks = [MISSING] * len(facts)
    if not stored:
        return vectors, marks
    where = [facts.places[memory.int] for memory, _ in stored]
    rows = np.frombuffer(b"".join([packed[HEAD:] for _, packed in stored]), dtype=">f4").reshape(-1, dimensions)
    native = rows.astype(np.float32)
    vectors[where] = native
    for place, row in zip(where, native, strict=True):
        marks[place] = blake2b(row.data, digest_size=MARK).digest()
    return vectors, marks
