"""Each memory's nearest neighbour by the vector of its full text: of all memories, or of a sample."""

from collections.abc import Sequence
from typing import Any, NamedTuple
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

MAX_EXACT = 3_000  # memories up to which all are compared with all
SAMPLE_SIZE = 300  # memories compared with all in a larger namespace
SCAN_SAMPLE_SIZE = 30  # the same without an index
BLOCK_SIZE = 512  # rows of the cosine matrix computed at a time


class NeighbourPair(NamedTuple):
    """Two memories of which one is the other's nearest neighbour; ordered by id, which is the order of writing."""

    first: UUID
    second: UUID
    cosine: float


class NeighbourComparison(NamedTuple):
    """The pairs found, nearest first, and what was compared."""

    pairs: list[NeighbourPair]
    memories: int  # with a vector
    compared: int  # of them, those whose neighbour was searched
    method: str  # exact or index


def compare_memories(namespace: Namespace) -> NeighbourComparison:
    """Find nearest neighbours, as exactly as the number of memories allows."""
    total = count_searchable(namespace)
    if total >= SCAN_BELOW:
        return compare_in_database(namespace, total)
    ids, vectors = load_fact_vectors(namespace)
    rows = np.arange(len(ids)) if len(ids) <= MAX_EXACT else row_indices(ids, sample_memories(namespace, SAMPLE_SIZE))
    return NeighbourComparison(compare_vectors(ids, vectors, rows), len(ids), len(rows), "exact")


def compare_in_database(namespace: Namespace, total: int) -> NeighbourComparison:
    """Search the neighbours of a sample in the database, by the index if there is one."""
    has_index = uses_index(namespace)
    ids, vectors = load_fact_vectors(
        namespace, sample_memories(namespace, SAMPLE_SIZE if has_index else SCAN_SAMPLE_SIZE)
    )
    with transaction.atomic():  # the index's search parameters are set per transaction
        search = search_index_and_scan if has_index else scan_neighbours
        neighbour_lists = search(namespace, vectors.astype(float))
    pairs = {
        neighbour_pair(id, best.memory, best.cosine)
        for id, neighbours in zip(ids, neighbour_lists, strict=True)
        if (best := nearest_other(id, neighbours))
    }
    return NeighbourComparison(sort_pairs(pairs), total, len(ids), "index" if has_index else "exact")


def nearest_other(memory: UUID, neighbours: Sequence[Neighbour]) -> Neighbour | None:
    """The nearest neighbour that is not the memory itself."""
    others = (neighbour for neighbour in neighbours if neighbour.memory != memory)
    return min(others, key=lambda neighbour: (-neighbour.cosine, neighbour.memory), default=None)


def compare_vectors(ids: Sequence[UUID], vectors: Vectors, rows: NDArray[np.intp]) -> list[NeighbourPair]:
    """Compare some rows with all, block by block; of equally near ones the first wins."""
    if len(ids) < 2:
        return []
    pairs = set()
    for start in range(0, len(rows), BLOCK_SIZE):
        block = rows[start : start + BLOCK_SIZE]
        cosines = vectors[block] @ vectors.T
        cosines[np.arange(len(block)), block] = -np.inf
        best = cosines.argmax(axis=1)
        best_cosines = cosines[np.arange(len(block)), best].tolist()
        pairs |= {
            neighbour_pair(ids[row], ids[neighbour], cosine)
            for row, neighbour, cosine in zip(block.tolist(), best.tolist(), best_cosines, strict=True)
        }
    return sort_pairs(pairs)


def neighbour_pair(memory: UUID, neighbour: UUID, cosine: float) -> NeighbourPair:
    """A pair in canonical order."""
    return NeighbourPair(min(memory, neighbour), max(memory, neighbour), round(min(cosine, 1.0), COSINE_DECIMALS))


def sort_pairs(pairs: set[NeighbourPair]) -> list[NeighbourPair]:
    """Nearest first; mutual neighbours are one pair, even if rounding gave two cosines."""
    unique = {(pair.first, pair.second): pair for pair in pairs}
    return sorted(unique.values(), key=pair_sort_key)


def pair_sort_key(pair: NeighbourPair) -> tuple[float, UUID, UUID]:
    """Nearest first, then by id."""
    return -pair.cosine, pair.first, pair.second


def count_searchable(namespace: Namespace) -> int:
    """How many memories have a vector to compare."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"namespace": namespace.id, "embedder": namespace.embedder}
        cursor.execute(f"SELECT count(*) {SEARCHABLE_SQL}", values)
        return int(cursor.fetchone()[0])


def sample_memories(namespace: Namespace, size: int) -> list[UUID]:
    """A sample by the hash of the ids: unbiased, and the same each time."""
    query = f"SELECT v.memory_id {SEARCHABLE_SQL} ORDER BY md5(v.memory_id::text) LIMIT %(size)s"
    with connection.cursor() as cursor:
        cursor.execute(query, {"namespace": namespace.id, "embedder": namespace.embedder, "size": size})
        return [row[0] for row in cursor.fetchall()]


def row_indices(ids: Sequence[UUID], sample: Sequence[UUID]) -> NDArray[np.intp]:
    """Row numbers of the sampled ids."""
    chosen = set(sample)
    return np.array([row for row, id in enumerate(ids) if id in chosen], dtype=np.intp)
