"""The stored memories nearest to new ones, by the vector of the full text."""

from typing import NamedTuple
from uuid import UUID

from django.db import connection
from pgvector import Vector
from psycopg.sql import Literal

from memories.models import Namespace
from memories.models.choices import EMBEDDERS, ChunkLevel, Route
from scoring.term import Array

NEAREST = 8
# Below so many vectors a scan is exact and as fast; above, the index answers, and goes on until enough rows match.
SCAN_BELOW = 20_000


class Neighbour(NamedTuple):
    """A stored memory and its cosine to a new one."""

    memory: UUID
    cosine: float


def nearest(namespace: Namespace, vectors: Array) -> list[list[Neighbour]]:
    """For each vector the nearest memories that have one, nearest first; one question for all of them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT documents FROM memories_namespacestatistics WHERE namespace_id = %s", [namespace.id])
        documents = cursor.fetchone()[0]
        if not documents:
            return [[] for _ in vectors]
        exact = documents < SCAN_BELOW or namespace.embedder not in EMBEDDERS
        if not exact:
            cursor.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'")
        # One literal for all: as a list, psycopg would quote each vector's text by itself.
        asked = ",".join(f'"{Vector(vector).to_text()}"' for vector in vectors)
        cursor.execute(statement(namespace.embedder, exact=exact), [f"{{{asked}}}", namespace.id])
        found: list[list[Neighbour]] = [[] for _ in vectors]
        for place, memory, distance in cursor.fetchall():
            found[place - 1].append(Neighbour(memory, 1.0 - distance))
    return found


def statement(embedder: str, *, exact: bool) -> str:
    """The question; the embedder stands in it as a literal, or its index would not be used."""
    # Without its cast the index is left out, and the scan stays exact.
    cast = "" if exact else f"::halfvec({EMBEDDERS[embedder]})"
    distance = f"v.vector{cast} <=> q.vector{cast}"
    literal = Literal(embedder).as_string().replace("%", "%%")
    # Vectors alone are asked: a join would be planned by statistics that a growing namespace has outrun.
    return f"""
        SELECT q.place, found.memory_id, found.distance
        FROM unnest(%s::vector[]) WITH ORDINALITY AS q(vector, place)
        CROSS JOIN LATERAL (
            SELECT v.memory_id, {distance} AS distance
            FROM memories_memoryvector v
            WHERE v.namespace_id = %s AND v.embedder = {literal} AND v.route = '{Route.FULL}'
                AND v.level = '{ChunkLevel.FACT}' AND v.active
            ORDER BY {distance} LIMIT {NEAREST}
        ) found
        ORDER BY q.place, found.distance, found.memory_id
    """
