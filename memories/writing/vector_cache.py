"""Fact vectors of a namespace, cached per process between batches."""

import threading
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from memories.db.lru_cache import LRUCache
from memories.models import Namespace
from memories.models.choices import ChunkLevel, Route
from memories.writing.bulk_copy import Vectors, copy_vectors_out
from scoring.term import Array

MAX_VECTORS = 150_000  # vectors per cached namespace: about 300 MB
MAX_NAMESPACES = 2  # cached namespaces
BLOCK_SIZE = 16_384  # vectors compared per matrix product
ROUNDING = 1e-5  # tolerance of the float32 bound
# The searchable fact vectors of a namespace. No join: the planner's statistics are stale for a growing namespace.
STORED = "v.namespace_id = %(namespace)s AND v.embedder = %(embedder)s"
SEARCHABLE_SQL = f"""
    FROM memories_memoryvector v
    WHERE {STORED} AND v.route = '{Route.FULL}' AND v.level = '{ChunkLevel.FACT}' AND v.active
"""


class VectorBuffer:
    """Growable buffer of ids and vectors; over-allocated by half, so most batches append without copying."""

    def __init__(self, capacity: int, dimensions: int) -> None:
        self.ids: NDArray[np.void] = np.empty(capacity, dtype="V16")
        self.vectors: Vectors = np.empty((capacity, dimensions), dtype=np.float32)
        self.sketches: Vectors = np.empty((capacity, dimensions // 2 + 1), dtype=np.float32)
        self.used = 0

    def append(self, ids: NDArray[np.void], vectors: Vectors) -> None:
        """Append rows."""
        end = self.used + len(ids)
        self.ids[self.used : end] = ids
        self.vectors[self.used : end] = vectors
        self.sketches[self.used : end] = sketch_vectors(vectors)
        self.used = end


def sketch_vectors(vectors: Vectors) -> Vectors:
    """The first half of each vector plus the norm of the rest.

    By Cauchy–Schwarz the product of two sketches bounds the cosine from above, so a search reads half the data and then
    only the few full vectors whose bound is high enough.
    """
    half = vectors.shape[1] // 2
    return np.concatenate([vectors[:, :half], np.linalg.norm(vectors[:, half:], axis=1, keepdims=True)], axis=1)


@dataclass(frozen=True, eq=False)
class CachedVectors:
    """Vectors and memory ids as of one write of a namespace: a prefix of a shared buffer."""

    embedder: str
    epoch: int
    writes: int
    buffer: VectorBuffer
    length: int = 0

    def search(self, query_vectors: Array, min_cosine: float) -> list[list[tuple[UUID, float]]]:
        """For each query the memories of at least this cosine, unordered; one hidden and shown again counts once."""
        hits: list[dict[UUID, float]] = [{} for _ in query_vectors]
        queries = np.asarray(query_vectors, dtype=np.float32)
        query_sketches, buffer = sketch_vectors(queries), self.buffer
        for start in range(0, self.length, BLOCK_SIZE):
            bounds = query_sketches @ buffer.sketches[start : min(start + BLOCK_SIZE, self.length)].T
            candidates = np.flatnonzero(bounds.ravel() >= min_cosine - ROUNDING)
            for pairs in np.array_split(candidates, len(candidates) // BLOCK_SIZE + 1):
                query_indexes, rows = pairs // bounds.shape[1], start + pairs % bounds.shape[1]
                cosines = np.einsum("ij,ij->i", queries[query_indexes], buffer.vectors[rows])
                for index in np.flatnonzero(cosines >= min_cosine):
                    hits[query_indexes[index]][UUID(bytes=buffer.ids[rows[index]].tobytes())] = float(cosines[index])
        return [list(cosine_by_memory.items()) for cosine_by_memory in hits]

    def with_more(self, writes: int, ids: NDArray[np.void], vectors: Vectors) -> "CachedVectors":
        """A copy that includes rows written since."""
        buffer, length = self.buffer, self.length + len(ids)
        # Rows after this prefix may belong to another snapshot or to a rolled-back write.
        if len(ids) and (buffer.used != self.length or length > len(buffer.ids)):
            buffer = VectorBuffer(length + length // 2, vectors.shape[1])
            buffer.append(self.buffer.ids[: self.length], self.buffer.vectors[: self.length])
        buffer.append(ids, vectors)
        return CachedVectors(self.embedder, self.epoch, writes, buffer, length)


_cache = LRUCache[UUID, CachedVectors](MAX_NAMESPACES)
_append_lock = threading.Lock()  # versions of a namespace share a buffer


def cached_vectors(namespace: Namespace, epoch: int, last: int, dimensions: int) -> CachedVectors:
    """The vectors of a namespace as of its last write; only rows newer than the cached ones are read.

    Memories hidden since are still included; callers check the status.
    """
    version = namespace.embedder, epoch
    cached = _cache.get(namespace.id, version=version)
    if cached is None:
        cached = CachedVectors(namespace.embedder, epoch, -1, VectorBuffer(0, dimensions))
    fresh = fetch_vectors(namespace, dimensions, cached.writes, last)
    with _append_lock:
        current = cached.with_more(last, *fresh)
    # Cache only after commit: a rolled-back write's number is reused.
    transaction.on_commit(lambda: cache_vectors(namespace, current))
    return current


def cache_vectors(namespace: Namespace, current: CachedVectors) -> None:
    """Cache a namespace's vectors, valid for one embedder and epoch."""
    _cache.put(namespace.id, current, version=(current.embedder, current.epoch))


def fetch_vectors(namespace: Namespace, dimensions: int, after: int, last: int) -> tuple[NDArray[np.void], Vectors]:
    """Ids and vectors of searchable memories written in a range of writes."""
    query = f"SELECT v.memory_id, v.vector {SEARCHABLE_SQL} AND v.written > %(after)s AND v.written <= %(last)s"
    values = {"namespace": namespace.id, "embedder": namespace.embedder, "after": after, "last": last}
    return copy_vectors_out(query, values, dimensions)
