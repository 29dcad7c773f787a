"""Vectors and token states of candidates, straight into arrays."""

from hashlib import blake2b

import numpy as np

from memories.providers.embedder import embedder
from memories.retrieval.facts import VECTORS, Facts
from memories.writing.copying import vectors_out
from scoring.term import Array

MARK = 8  # bytes
MISSING = bytes(MARK)


def vectors_of(facts: Facts) -> tuple[Array, list[bytes]]:
    """The vectors of whole texts in the order of the ids, and a mark by which each is known again.

    One that is missing is marked as such, and points nowhere in particular.
    """
    dimensions = embedder(facts.embedder).dimensions
    vectors = np.zeros((len(facts.ids), dimensions))
    vectors[:, 0] = 1.0
    marks = [MISSING] * len(facts.ids)
    if not facts.ids:
        return vectors, marks
    places = {id.bytes: place for place, id in enumerate(facts.ids)}
    for id, row in zip(*vectors_out(VECTORS, facts.values, dimensions), strict=True):
        place = places[id.tobytes()]
        vectors[place] = row
        marks[place] = blake2b(row.tobytes(), digest_size=MARK).digest()
    return vectors, marks
