"""Vectors of memories, one per embedder and route, and their token states."""

from hashlib import sha256
from uuid import UUID

from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models import Index, Q, UniqueConstraint
from pgvector.django import VectorField
from psycopg.sql import Literal

from memories.models.check_constraints import choice_checks, range_checks
from memories.models.choices import ChunkLevel, Route
from memories.models.keys import Namespaced
from memories.models.memory import Memory
from memories.models.references import Reference

# Below this many vectors an exact scan is as fast as an index; a larger namespace gets its own (writing/vector_index).
SCAN_BELOW = 20_000
EF_CONSTRUCTION = 128  # with pgvector's 64, the index finds .90 instead of .95 of the nearest by the same effort


INDEX_PREFIX = "memoryvector_hnsw_"


def index_name(namespace: UUID, embedder: str) -> str:
    """The name of a namespace's HNSW index over one embedder's vectors."""
    return f"{INDEX_PREFIX}{namespace.hex}_{sha256(embedder.encode()).hexdigest()[:8]}"


def index_predicate(namespace: UUID, embedder: str, *, table: str = "") -> str:
    """The rows of that index; a query uses it only if it repeats these conditions as literals."""
    name = Literal(embedder).as_string()
    return f"{table}namespace_id = '{namespace}' AND {table}embedder = {name} AND {table}indexed"


class MemoryVector(Namespaced):
    """The vector of one of a memory's texts."""

    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="vectors")
    route = models.CharField(max_length=20, choices=Route, default=Route.FULL)
    embedder = models.CharField(max_length=100)
    vector = VectorField()
    # Copies of the memory's columns, so that a nearest-neighbour query needs no join.
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)
    active = models.BooleanField(default=True)
    written = models.BigIntegerField(default=0, help_text="number of the write that made it searchable")
    indexed = models.BooleanField(
        default=False, help_text="whether it is in the namespace's HNSW index; otherwise a scan finds it"
    )

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "route", "embedder"], name="memoryvector_once"),
            *choice_checks(route=Route, level=ChunkLevel),
        ]
        indexes = [
            Index(fields=["namespace", "embedder", "route", "written"], name="memoryvector_scan"),
            Index(
                fields=["namespace", "embedder", "route"], condition=Q(indexed=False), name="memoryvector_not_indexed"
            ),
            # A retrieval looks up hundreds; the constraint's index takes twice as long for each.
            HashIndex(fields=["memory_id"], condition=Q(route=Route.FULL), name="memoryvector_of_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.route} by {self.embedder}"


class TokenStates(Namespaced):
    """A memory's token states for MaxSim, as int8 times one scale."""

    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="token_states")
    embedder = models.CharField(max_length=100)
    packed = models.BinaryField()
    tokens = models.PositiveIntegerField()
    scale = models.FloatField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "embedder"], name="tokenstates_once"),
            *range_checks(0, 1e6, "scale"),
        ]
        verbose_name_plural = "token states"

    def __str__(self) -> str:
        return f"{self.tokens} tokens by {self.embedder}"
