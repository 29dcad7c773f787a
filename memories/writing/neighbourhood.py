"""The vectors of a namespace's facts, held in memory between one batch and the next."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from memories.models import Namespace
from memories.models.choices import ChunkLevel, Route
from memories.writing.copying import Vectors, vectors_out
from scoring.term import Array

LARGEST = 150_000  # vectors that are worth holding: some 300 MB
HELD = 2  # namespaces
BLOCK = 16_384  # vectors compared at a time
ROUNDING = 1e-5  # by which the product of two heads may be too small


class Shelf:
    """Room for ids and vectors that grows by halves, so that most batches find a place without copying the rest."""

    def __init__(self, room: int, dimensions: int) -> None:
        self.ids: NDArray[np.void] = np.empty(room, dtype="V16")
        self.vectors: Vectors = np.empty((room, dimensions), dtype=np.float32)
        self.heads: Vectors = np.empty((room, dimensions // 2 + 1), dtype=np.float32)
        self.used = 0

    def put(self, ids: NDArray[np.void], vectors: Vectors) -> None:
        """Add some at the end."""
        end = self.used + len(ids)
        self.ids[self.used : end] = ids
        self.vectors[self.used : end] = vectors
        self.heads[self.used : end] = heads(vectors)
        self.used = end


def heads(vectors: Vectors) -> Vectors:
    """The first half of each vector and, as one number more, the length of the rest.

    By Cauchy and Schwarz no cosine is greater than the product of two heads, so that a search looks at a half of what
    it would have to, and then at the few vectors whose heads come close.
    """
    half = vectors.shape[1] // 2
    return np.concatenate([vectors[:, :half], np.linalg.norm(vectors[:, half:], axis=1, keepdims=True)], axis=1)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Vectors and the memories they stand for, as of one write of a namespace: the beginning of a shelf."""

    embedder: str
    epoch: int
    writes: int
    shelf: Shelf
    length: int = 0

    def near(self, asked: Array, least: float) -> list[list[tuple[UUID, float]]]:
        """For each vector the memories at least so close, in no order; one that was shown again stands here twice."""
        found: list[dict[UUID, float]] = [{} for _ in asked]
        wanted = np.asarray(asked, dtype=np.float32)
        wanted_heads, shelf = heads(wanted), self.shelf
        for start in range(0, self.length, BLOCK):
            most = wanted_heads @ shelf.heads[start : min(start + BLOCK, self.length)].T
            close = np.flatnonzero(most.ravel() >= least - ROUNDING)
            for pairs in np.array_split(close, len(close) // BLOCK + 1):
                places, stored = pairs // most.shape[1], start + pairs % most.shape[1]
                cosines = np.einsum("ij,ij->i", wanted[places], shelf.vectors[stored])
                for at in np.flatnonzero(cosines >= least):
                    found[places[at]][UUID(bytes=shelf.ids[stored[at]].tobytes())] = float(cosines[at])
        return [list(one.items()) for one in found]

    def with_more(self, writes: int, ids: NDArray[np.void], vectors: Vectors) -> "Neighbourhood":
        """The same, and what was written since."""
        shelf, length = self.shelf, self.length + len(ids)
        # What stands behind this beginning may be another's, or have been taken back.
        if len(ids) and (shelf.used != self.length or length > len(shelf.ids)):
            shelf = Shelf(length + length // 2, vectors.shape[1])
            shelf.put(self.shelf.ids[: self.length], self.shelf.vectors[: self.length])
        shelf.put(ids, vectors)
        return Neighbourhood(self.embedder, self.epoch, writes, shelf, length)


_held: OrderedDict[UUID, Neighbourhood] = OrderedDict()
_holding = threading.Lock()


def neighbourhood(namespace: Namespace, epoch: int, last: int, dimensions: int) -> Neighbourhood:
    """What a namespace holds as of its last write; of what this process knows already only the rest is read.

    What was hidden meanwhile is still in it, and told by its status.
    """
    with _holding:
        known = _held.get(namespace.id)
    if known is None or (known.embedder, known.epoch) != (namespace.embedder, epoch):
        known = Neighbourhood(namespace.embedder, epoch, -1, Shelf(0, dimensions))
    more = fetched(namespace, dimensions, known.writes, last)
    with _holding:
        now = known.with_more(last, *more)
    # Only what is committed is held: a write that is taken back gives its number to the next.
    transaction.on_commit(lambda: hold(namespace, now))
    return now


def hold(namespace: Namespace, now: Neighbourhood) -> None:
    """Keep what is known of a namespace, and let go of the one that was not written to for longest."""
    with _holding:
        _held[namespace.id] = now
        _held.move_to_end(namespace.id)
        while len(_held) > HELD:
            _held.popitem(last=False)


def fetched(namespace: Namespace, dimensions: int, after: int, last: int) -> tuple[NDArray[np.void], Vectors]:
    """The ids of the memories that can be found, from after one write up to another, and their vectors."""
    query = f"SELECT v.memory_id, v.vector {FINDABLE} AND v.written > %s AND v.written <= %s"
    return vectors_out(query, [namespace.id, namespace.embedder, after, last], dimensions)


# The vectors by which a namespace's facts are found. Vectors alone are asked: a join would be planned by statistics
# that a growing namespace has outrun.
FINDABLE = f"""
    FROM memories_memoryvector v
    WHERE v.namespace_id = %s AND v.embedder = %s AND v.route = '{Route.FULL}'
        AND v.level = '{ChunkLevel.FACT}' AND v.active
"""
