"""Each memory's nearest neighbour by the vector of the full text: of all memories, or of a sample of them."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from memories.maintenance.fact_vectors import Vectors, load_fact_vectors
from memories.maintenance.index_recall import uses_index
from memories.models import Namespace
from memories.models.vector import SCAN_BELOW
from memories.writing.neighbours import COSINE_DECIMALS, Neighbour, scan_neighbours, search_index_and_scan
from memories.writing.vector_cache import SEARCHABLE_SQL

EXACT = 3_000  # memories up to which each is compared with each
SAMPLE = 300  # of more, so many are compared with all
BY_SCAN = 30  # where no index helps
BLOCK = 512  # memories compared at a time


class Near(NamedTuple):
    """Two memories, of which one is the other's nearest; in the order of their ids, which is that of their writing."""

    first: UUID
    second: UUID
    cosine: float


class Compared(NamedTuple):
    """What was compared with what, and the pairs that were found, nearest first."""

    pairs: list[Near]
    memories: int  # that can be found
    asked: int  # of them, those whose neighbour was looked for
    way: str  # exact, or by the index


def compared(namespace: Namespace) -> Compared:
    """Find the nearest neighbours, as exactly as the number of memories allows."""
    total = findable(namespace)
    if total >= SCAN_BELOW:
        return by_database(namespace, total)
    ids, vectors = load_fact_vectors(namespace)
    asked = np.arange(len(ids)) if len(ids) <= EXACT else places(ids, sampled(namespace, SAMPLE))
    return Compared(by_product(ids, vectors, asked), len(ids), len(asked), "exact")


def by_database(namespace: Namespace, total: int) -> Compared:
    """Ask about a sample of many, by the index where there is one."""
    large = uses_index(namespace)
    ids, vectors = load_fact_vectors(namespace, sampled(namespace, SAMPLE if large else BY_SCAN))
    with transaction.atomic():  # an index is told how to search for the time of a transaction
        found = (search_index_and_scan if large else scan_neighbours)(namespace, vectors.astype(float))
    pairs = {
        paired(id, best.memory, best.cosine) for id, near in zip(ids, found, strict=True) if (best := other(id, near))
    }
    return Compared(ordered(pairs), total, len(ids), "index" if large else "exact")


def other(memory: UUID, near: Sequence[Neighbour]) -> Neighbour | None:
    """The nearest that is not the memory itself."""
    return min((one for one in near if one.memory != memory), key=lambda one: (-one.cosine, one.memory), default=None)


def by_product(ids: Sequence[UUID], vectors: Vectors, asked: NDArray[np.intp]) -> list[Near]:
    """Compare some with all, block by block; of equally near ones the earlier counts."""
    if len(ids) < 2:
        return []
    pairs = set()
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        cosines = vectors[block] @ vectors.T
        cosines[np.arange(len(block)), block] = -np.inf
        best = cosines.argmax(axis=1)
        nearest = cosines[np.arange(len(block)), best].tolist()
        pairs |= {
            paired(ids[one], ids[two], cosine)
            for one, two, cosine in zip(block.tolist(), best.tolist(), nearest, strict=True)
        }
    return ordered(pairs)


def paired(one: UUID, two: UUID, cosine: float) -> Near:
    """A pair as it is known, whichever of the two was asked about."""
    return Near(min(one, two), max(one, two), round(min(cosine, 1.0), COSINE_DECIMALS))


def ordered(pairs: set[Near]) -> list[Near]:
    """Nearest first; two that are each other's nearest are one pair, even where rounding told them apart."""
    once = {(pair.first, pair.second): pair for pair in pairs}
    return sorted(once.values(), key=key)


def key(pair: Near) -> tuple[float, UUID, UUID]:
    """By what pairs are ordered."""
    return -pair.cosine, pair.first, pair.second


def findable(namespace: Namespace) -> int:
    """How many memories have a vector to compare."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {SEARCHABLE_SQL}", [namespace.id, namespace.embedder])
        return int(cursor.fetchone()[0])


def sampled(namespace: Namespace, size: int) -> list[UUID]:
    """Some memories, chosen by the hash of their ids: as good as by chance, and the same ones each time."""
    query = f"SELECT v.memory_id {SEARCHABLE_SQL} ORDER BY md5(v.memory_id::text) LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(query, [namespace.id, namespace.embedder, size])
        return [row[0] for row in cursor.fetchall()]


def places(ids: Sequence[UUID], some: Sequence[UUID]) -> NDArray[np.intp]:
    """Where some memories stand among all."""
    chosen = set(some)
    return np.array([place for place, id in enumerate(ids) if id in chosen], dtype=np.intp)
