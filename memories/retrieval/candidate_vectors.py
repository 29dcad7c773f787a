"""Vectors of candidates, straight into arrays."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.providers.embedder import embedder
from memories.retrieval.candidate_sql import CandidateTables
from scoring.term import Array

HEAD = 4  # bytes before the numbers of a vector
FINGERPRINT_BYTES = 8  # bytes
NO_VECTOR = bytes(FINGERPRINT_BYTES)


def load_candidate_vectors(facts: CandidateTables, stored: Sequence[tuple[UUID, bytes]]) -> tuple[Array, list[bytes]]:
    """The vectors of whole texts in the order of the ids, and a mark by which each is known again.

    One that is missing is marked as such, and points nowhere in particular.
    """
    dimensions = embedder(facts.embedder).dimensions
    vectors = np.zeros((len(facts), dimensions))
    vectors[:, 0] = 1.0
    marks = [NO_VECTOR] * len(facts)
    if not stored:
        return vectors, marks
    where = [facts.positions[memory.int] for memory, _ in stored]
    native = decode_vectors([packed for _, packed in stored], dimensions)
    vectors[where] = native
    for place, row in zip(where, native, strict=True):
        marks[place] = blake2b(row.data, digest_size=FINGERPRINT_BYTES).digest()
    return vectors, marks


def decode_vectors(stored: Iterable[bytes], dimensions: int) -> NDArray[np.float32]:
    """Vectors as they come from the database, one row for each."""
    rows = np.frombuffer(b"".join([packed[HEAD:] for packed in stored]), dtype=">f4")
    return rows.reshape(-1, dimensions).astype(np.float32)
