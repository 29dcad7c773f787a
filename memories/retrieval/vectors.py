"""Vectors and token states of candidates, straight into arrays."""

from collections.abc import Sequence
from hashlib import blake2b
from uuid import UUID

import numpy as np

from memories.models import Namespace, TokenStates
from memories.models.choices import Route
from memories.providers.embedder import embedder
from memories.providers.token_matrix import TokenMatrix
from memories.retrieval.reading import Reading
from memories.writing.copying import vectors_out
from scoring.fusion import maxsim
from scoring.term import Array

FULL = f"""
    SELECT v.memory_id, v.vector FROM memories_memoryvector v
    WHERE v.namespace_id = %s AND v.memory_id = ANY(%s) AND v.embedder = %s AND v.route = '{Route.FULL}'
"""
MARK = 8  # bytes
MISSING = bytes(MARK)


def vectors_of(namespace: Namespace, ids: Sequence[UUID], name: str) -> tuple[Array, list[bytes]]:
    """The vectors of whole texts in the order of the ids, and a mark by which each is known again.

    One that is missing is marked as such, and points nowhere in particular.
    """
    places = {id.bytes: place for place, id in enumerate(ids)}
    dimensions = embedder(name).dimensions
    found, rows = vectors_out(FULL, [namespace.id, list(ids), name], dimensions)
    vectors = np.zeros((len(ids), dimensions))
    vectors[:, 0] = 1.0
    marks = [MISSING] * len(ids)
    for id, row in zip(found, rows, strict=True):
        place = places[id.tobytes()]
        vectors[place] = row
        marks[place] = blake2b(row.tobytes(), digest_size=MARK).digest()
    return vectors, marks


def maxsims(namespace: Namespace, ids: Sequence[UUID], reading: Reading) -> Array:
    """How well each word of the query is met by each candidate's words; infinity where its words are not stored."""
    matched = np.full(len(ids), np.inf)
    if reading.tokens is None or not len(reading.tokens):
        return matched
    places = {id: place for place, id in enumerate(ids)}
    stored = TokenStates.objects.within(namespace).filter(memory_id__in=list(ids), embedder=reading.embedder)
    for memory, packed, tokens, scale in stored.values_list("memory_id", "packed", "tokens", "scale"):
        states = TokenMatrix.unpacked(bytes(packed), tokens, scale)
        matched[places[memory]] = maxsim(reading.tokens, np.asarray(states.vectors, dtype=float), reading.weights)
    return matched
