"""Vectors and token states of candidates, straight into arrays."""

from hashlib import blake2b

import numpy as np

from memories.providers.embedder import embedder
from memories.providers.token_matrix import TOKEN_DIMENSIONS
from memories.retrieval.facts import TOKENS, VECTORS, Facts
from memories.retrieval.reading import Reading
from memories.writing.copying import vectors_out
from scoring.fusion import maxsims
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


def matched_words(facts: Facts, reading: Reading) -> Array:
    """How well each word of the query is met by each candidate's words; infinity where its words are not stored."""
    matched = np.full(len(facts.ids), np.inf)
    if reading.tokens is None or not len(reading.tokens):
        return matched
    stored = [(memory, bytes(packed)) for memory, packed in facts.ask(TOKENS) if len(packed)]
    if not stored:
        return matched
    states = np.frombuffer(b"".join(packed for _, packed in stored), dtype=np.int8).reshape(-1, TOKEN_DIMENSIONS)
    words = states.astype(np.float32)
    # The scale of each memory's states falls out when their lengths are made one.
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9)
    counts = [len(packed) // TOKEN_DIMENSIONS for _, packed in stored]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
    places = {id: place for place, id in enumerate(facts.ids)}
    found = maxsims(reading.tokens.astype(np.float32), words, starts, reading.weights)
    matched[[places[memory] for memory, _ in stored]] = found
    return matched
