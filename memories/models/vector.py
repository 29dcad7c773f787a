"""Memories as vectors: one per embedder and route, and their tokens' states."""

from django.contrib.postgres.indexes import HashIndex, OpClass
from django.db import models
from django.db.models import Index, Q, UniqueConstraint
from django.db.models.functions import Cast
from pgvector.django import HalfVectorField, HnswIndex, VectorField

from memories.models.choices import EMBEDDERS, ChunkLevel, Route
from memories.models.keys import Namespaced
from memories.models.memory import Memory
from memories.models.ranges import between, one_of
from memories.models.references import Reference

# Below this many vectors an exact scan is as fast as the index; only larger namespaces are indexed.
SCAN_BELOW = 20_000


def nearest(embedder: str, dimensions: int) -> HnswIndex:
    """Index one embedder's vectors by cosine; a query must name the embedder as a literal to be served by it.

    Only what was let in: a new vector would cost a write more than all else of its memory, and below some ten thousand
    a scan is as fast, so that small namespaces never crowd the index of the large.
    """
    name = f"memoryvector_{embedder}".lower().replace("-", "_")
    halves = Cast("vector", HalfVectorField(dimensions=dimensions))
    return HnswIndex(
        OpClass(halves, name="halfvec_cosine_ops"), name=name, condition=Q(embedder=embedder, indexed=True)
    )


class MemoryVector(Namespaced):
    """One text of a memory, as one embedder sees it."""

    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="vectors")
    route = models.CharField(max_length=20, choices=Route, default=Route.FULL)
    embedder = models.CharField(max_length=100)
    vector = VectorField()
    # Both are the memory's own, and stand here too because a search for neighbours joins nothing.
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)
    active = models.BooleanField(default=True)
    written = models.BigIntegerField(default=0, help_text="the number of the write that made it findable")
    indexed = models.BooleanField(default=False, help_text="whether the index has it; else a scan finds it")

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "route", "embedder"], name="memoryvector_once"),
            *one_of(route=Route, level=ChunkLevel),
        ]
        indexes = [
            Index(fields=["namespace", "embedder", "route", "written"], name="memoryvector_scan"),
            Index(
                fields=["namespace", "embedder", "route"], condition=Q(indexed=False), name="memoryvector_not_indexed"
            ),
            # Hundreds are looked up for one answer, and the constraint's index takes twice as long for each.
            HashIndex(fields=["memory_id"], condition=Q(route=Route.FULL), name="memoryvector_of_memory"),
            *(nearest(embedder, dimensions) for embedder, dimensions in EMBEDDERS.items()),
        ]

    def __str__(self) -> str:
        return f"{self.route} by {self.embedder}"


class TokenStates(Namespaced):
    """The states of a memory's tokens, packed as int8 times one scale, for MaxSim."""

    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="token_states")
    embedder = models.CharField(max_length=100)
    packed = models.BinaryField()
    tokens = models.PositiveIntegerField()
    scale = models.FloatField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "embedder"], name="tokenstates_once"),
            *between(0, 1e6, "scale"),
        ]
        verbose_name_plural = "token states"

    def __str__(self) -> str:
        return f"{self.tokens} tokens by {self.embedder}"
