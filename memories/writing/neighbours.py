"""The stored memories nearest to new ones, by the vector of the full text."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

from django.db import connection
from pgvector import Vector
from psycopg.sql import Literal

from memories.models import Memory, Namespace, NamespaceStatistics
from memories.models.choices import EMBEDDERS, Status
from memories.writing.comparing import COMPARED, elsewhere, unrelated
from memories.writing.neighbourhood import FINDABLE, LARGEST, neighbourhood
from scoring.term import Array

NEAREST = 8
# From so many new memories on, comparing in memory costs less than asking the database about each.
MANY = 8
# Below so many vectors a scan is exact and as fast as the index, which holds larger namespaces alone.
SCAN_BELOW = 20_000


class Neighbour(NamedTuple):
    """A stored memory and its cosine to a new one."""

    memory: UUID
    cosine: float


# So many of the nearest, for the vectors at some places.
Search: TypeAlias = Callable[[Sequence[int], int], list[list[Neighbour]]]
# A cosine is known to six places: what lies behind differs by how it was computed, and must not decide.
PLACES = 6


def nearest(
    namespace: Namespace, vectors: Array, least: float, news: Sequence[Memory] = (), *, locked: bool = False
) -> list[list[Neighbour]]:
    """For each vector the nearest memories that are at least so close, nearest first.

    Where the memories that the vectors stand for are given, those that have nothing to do with them take no place, and
    those of other subjects none from their own.
    """
    search = searched(namespace, vectors, least, locked=locked)
    if not news:
        return search(range(len(vectors)), NEAREST)
    chosen: list[list[Neighbour]] = [[] for _ in vectors]
    waiting, limit = list(range(len(vectors))), NEAREST
    while waiting:
        found = dict(zip(waiting, search(waiting, limit), strict=True))
        rows = active(namespace, {one.memory for some in found.values() for one in some})
        for place, some in found.items():
            known = [one for one in some if one.memory in rows]
            near = [one for one in known if not unrelated(news[place], rows[one.memory])]
            own = [one for one in near if not elsewhere(news[place], rows[one.memory])]
            chosen[place] = [one for one in near if one in near[:NEAREST] or one in own[:NEAREST]]
            # Behind those that took all places there may be more.
            if len(some) < limit or len(own) >= NEAREST:
                waiting.remove(place)
        limit *= NEAREST
    return chosen


def searched(namespace: Namespace, vectors: Array, least: float, *, locked: bool) -> Search:
    """How to search a namespace: in memory for many vectors, else by the database."""
    statistics = NamespaceStatistics.objects.filter(namespace=namespace).first()
    if statistics is None or not statistics.documents:
        return lambda places, limit: [[] for _ in places]
    if len(vectors) >= MANY and statistics.documents <= LARGEST:
        # Whoever holds the lock has a number already, and has yet to write under it.
        last = statistics.writes - locked
        near = neighbourhood(namespace, statistics.epoch, last, vectors.shape[1]).near(vectors, least)
        held = [closest([Neighbour(*pair) for pair in pairs], least) for pairs in near]
        return lambda places, limit: [held[place][:limit] for place in places]
    large = statistics.documents >= SCAN_BELOW and namespace.embedder in EMBEDDERS
    ask = by_index_and_scan if large else by_scan
    return lambda places, limit: [
        closest(some, least)[:limit] for some in ask(namespace, vectors[list(places)], limit=limit)
    ]


def active(namespace: Namespace, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Those of some memories that are active; what this process holds may have been hidden by another since."""
    if not ids:
        return {}
    rows = Memory.objects.within(namespace).filter(id__in=ids, status=Status.ACTIVE)
    return {row.id: row for row in rows.only(*COMPARED)}


def closest(found: list[Neighbour], least: float) -> list[Neighbour]:
    """Neighbours that are close enough, nearest first; equally near ones by their ids."""
    known = [Neighbour(memory, round(cosine, PLACES)) for memory, cosine in found]
    return sorted((one for one in known if one.cosine >= least), key=lambda one: (-one.cosine, one.memory))


def by_scan(namespace: Namespace, vectors: Array, among: str = "", *, limit: int = NEAREST) -> list[list[Neighbour]]:
    """Compare with each stored vector."""
    return asked(namespace, vectors, "v.vector <=> q.vector", among, limit)


def by_index_and_scan(namespace: Namespace, vectors: Array, *, limit: int = NEAREST) -> list[list[Neighbour]]:
    """Ask the index for what it has, and scan what it does not have yet."""
    # Without its cast, and without the embedder as a literal, the index would be left out.
    halves = f"halfvec({EMBEDDERS[namespace.embedder]})"
    among = f"AND v.embedder = {Literal(namespace.embedder).as_string()} AND v.indexed"
    with connection.cursor() as cursor:
        # Go on until enough rows match: the nearest in the index may be another namespace's.
        cursor.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
    by_index = asked(namespace, vectors, f"v.vector::{halves} <=> q.vector::{halves}", among, limit)
    rest = by_scan(namespace, vectors, "AND NOT v.indexed", limit=limit)
    return [[*one, *other] for one, other in zip(by_index, rest, strict=True)]


def asked(namespace: Namespace, vectors: Array, distance: str, among: str, limit: int) -> list[list[Neighbour]]:
    """Let the database compare; one question for all vectors."""
    found: list[list[Neighbour]] = [[] for _ in vectors]
    statement = f"""
        SELECT q.place, found.memory_id, found.distance
        FROM unnest(%s::vector[]) WITH ORDINALITY AS q(vector, place)
        CROSS JOIN LATERAL (
            SELECT v.memory_id, {distance} AS distance {FINDABLE} {among} ORDER BY {distance} LIMIT {limit}
        ) found
    """
    # One literal for all: as a list, psycopg would quote each vector's text by itself.
    literal = "{" + ",".join(f'"{Vector(vector).to_text()}"' for vector in vectors) + "}"
    with connection.cursor() as cursor:
        cursor.execute(statement, [literal, namespace.id, namespace.embedder])
        for place, memory, away in cursor.fetchall():
            found[place - 1].append(Neighbour(memory, 1.0 - away))
    return found
