"""Nearest stored memories of new ones, by the vector of the full text."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db import connection
from pgvector import Vector

from memories.models import Memory, Namespace, NamespaceStatistics
from memories.models.choices import Status
from memories.models.vector import index_name, index_predicate
from memories.writing.comparison import COMPARED_COLUMNS, are_unrelated, unrelated_subjects
from memories.writing.vector_cache import MAX_VECTORS, SEARCHABLE_SQL, STORED, cached_vectors
from scoring.term import Array

MAX_NEIGHBOURS = 8
# From this batch size on, comparing in memory is cheaper than a lateral query per memory.
IN_MEMORY_FROM = 8


class Neighbour(NamedTuple):
    """A stored memory and its cosine to a new one."""

    memory: UUID
    cosine: float


# (vector indexes, limit) → nearest neighbours of each.
NeighbourSearch: TypeAlias = Callable[[Sequence[int], int], list[list[Neighbour]]]
# Cosines are rounded to six decimals: the rest depends on how they were computed and must not decide.
COSINE_DECIMALS = 6


def nearest_memories(
    namespace: Namespace, vectors: Array, min_cosine: float, new_rows: Sequence[Memory] = (), *, locked: bool = False
) -> list[list[Neighbour]]:
    """For each vector the nearest memories of at least the given cosine, nearest first.

    If the new memories are given, unrelated neighbours are skipped and those of other subjects do not use up the limit.
    """
    search = neighbour_search(namespace, vectors, min_cosine, locked=locked)
    if not new_rows:
        return search(range(len(vectors)), MAX_NEIGHBOURS)
    chosen: list[list[Neighbour]] = [[] for _ in vectors]
    pending, limit = list(range(len(vectors))), MAX_NEIGHBOURS
    while pending:
        hits = dict(zip(pending, search(pending, limit), strict=True))
        rows = active_memories(namespace, {hit.memory for neighbours in hits.values() for hit in neighbours})
        for index, neighbours in hits.items():
            active_hits = [hit for hit in neighbours if hit.memory in rows]
            related = [hit for hit in active_hits if not are_unrelated(new_rows[index], rows[hit.memory])]
            same_subject = [hit for hit in related if not unrelated_subjects(new_rows[index], rows[hit.memory])]
            chosen[index] = [
                hit for hit in related if hit in related[:MAX_NEIGHBOURS] or hit in same_subject[:MAX_NEIGHBOURS]
            ]
            # Done unless other neighbours took the slots: then there may be more beyond the limit.
            if len(neighbours) < limit or len(same_subject) >= MAX_NEIGHBOURS:
                pending.remove(index)
        limit *= MAX_NEIGHBOURS
    return chosen


def neighbour_search(namespace: Namespace, vectors: Array, min_cosine: float, *, locked: bool) -> NeighbourSearch:
    """Choose the search: in memory for many vectors, otherwise in the database."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first()
    if statistics is None or not statistics.documents:
        return lambda indexes, limit: [[] for _ in indexes]
    if len(vectors) >= IN_MEMORY_FROM and statistics.documents <= MAX_VECTORS:
        # The lock holder's write number is taken, but nothing is written under it yet.
        last = statistics.writes - locked
        matches = cached_vectors(namespace, statistics.epoch, last, vectors.shape[1]).search(vectors, min_cosine)
        sorted_matches = [sort_neighbours([Neighbour(*pair) for pair in pairs], min_cosine) for pairs in matches]
        return lambda indexes, limit: [sorted_matches[index][:limit] for index in indexes]
    is_indexed = statistics.vector_index == index_name(namespace.id, namespace.embedder)
    run = search_index_and_scan if is_indexed else scan_neighbours
    return lambda indexes, limit: [
        sort_neighbours(neighbours, min_cosine)[:limit]
        for neighbours in run(namespace, vectors[list(indexes)], limit=limit)
    ]


def active_memories(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """The active ones among some memories; another process may have hidden cached ones."""
    if not ids:
        return {}
    rows = Memory.objects.within(namespace).filter(id__in=ids, status=Status.ACTIVE)
    return {row.id: row for row in rows.only(*COMPARED_COLUMNS)}


def sort_neighbours(neighbours: list[Neighbour], min_cosine: float) -> list[Neighbour]:
    """Neighbours above the minimum cosine, nearest first, ties by id."""
    rounded = [Neighbour(memory, round(cosine, COSINE_DECIMALS)) for memory, cosine in neighbours]
    return sorted(
        (neighbour for neighbour in rounded if neighbour.cosine >= min_cosine),
        key=lambda neighbour: (-neighbour.cosine, neighbour.memory),
    )


def scan_neighbours(
    namespace: Namespace, vectors: Array, condition: str = "", *, limit: int = MAX_NEIGHBOURS
) -> list[list[Neighbour]]:
    """Exact search over all stored vectors."""
    return query_neighbours(namespace, vectors, "v.vector <=> q.vector", f"{STORED} {condition}", limit)


def search_index_and_scan(
    namespace: Namespace, vectors: Array, *, limit: int = MAX_NEIGHBOURS
) -> list[list[Neighbour]]:
    """Search the namespace's HNSW index, and scan the vectors not indexed yet."""
    halfvec_type = f"halfvec({vectors.shape[1]})"
    stored = index_predicate(namespace.id, namespace.embedder, table="v.")
    with connection.cursor() as cursor:
        # Iterate until enough rows match: the nearest in the index may be hidden.
        cursor.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
    indexed = query_neighbours(
        namespace, vectors, f"v.vector::{halfvec_type} <=> q.vector::{halfvec_type}", stored, limit
    )
    scanned = scan_neighbours(namespace, vectors, "AND NOT v.indexed", limit=limit)
    return [[*first, *second] for first, second in zip(indexed, scanned, strict=True)]


def query_neighbours(
    namespace: Namespace, vectors: Array, distance: str, stored: str, limit: int
) -> list[list[Neighbour]]:
    """Search in the database, one SQL query for all vectors."""
    neighbours: list[list[Neighbour]] = [[] for _ in vectors]
    statement = f"""
        SELECT q.ordinal, nearest.memory_id, nearest.distance
        FROM unnest(%(vectors)s::vector[]) WITH ORDINALITY AS q(vector, ordinal)
        CROSS JOIN LATERAL (
            SELECT v.memory_id, {distance} AS distance {SEARCHABLE_SQL.replace(STORED, stored)}
            ORDER BY {distance} LIMIT {limit}
        ) nearest
    """
    # One literal for all: psycopg would quote every vector of a list separately.
    literal = "{" + ",".join(f'"{Vector(vector).to_text()}"' for vector in vectors) + "}"
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"vectors": literal, "namespace": namespace.id, "embedder": namespace.embedder}
        cursor.execute(statement, values)
        for ordinal, memory, cosine_distance in cursor.fetchall():
            neighbours[ordinal - 1].append(Neighbour(memory, 1.0 - cosine_distance))
    return neighbours
