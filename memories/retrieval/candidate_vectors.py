"""The candidates' vectors as one matrix."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.providers.embedder import embedder
from memories.retrieval.candidate_sql import CandidateTables
from scoring.term import Array

HEADER_BYTES = 4  # of a binary vector
FINGERPRINT_BYTES = 8
NO_VECTOR = bytes(FINGERPRINT_BYTES)


def load_candidate_vectors(tables: CandidateTables, stored: Sequence[tuple[UUID, bytes]]) -> tuple[Array, list[bytes]]:
    """The vectors of the full texts in id order, and a fingerprint of each; NO_VECTOR for one that is missing."""
    dimensions = embedder(tables.embedder).dimensions
    vectors = np.zeros((len(tables), dimensions))
    vectors[:, 0] = 1.0
    fingerprints = [NO_VECTOR] * len(tables)
    if not stored:
        return vectors, fingerprints
    positions = [tables.positions[memory.int] for memory, _ in stored]
    native = decode_vectors([packed for _, packed in stored], dimensions)
    vectors[positions] = native
    for position, row in zip(positions, native, strict=True):
        fingerprints[position] = blake2b(row.data, digest_size=FINGERPRINT_BYTES).digest()
    return vectors, fingerprints


def decode_vectors(stored: Iterable[bytes], dimensions: int) -> NDArray[np.float32]:
    """Binary vectors as the rows of a matrix."""
    rows = np.frombuffer(b"".join([packed[HEADER_BYTES:] for packed in stored]), dtype=">f4")
    return rows.reshape(-1, dimensions).astype(np.float32)
