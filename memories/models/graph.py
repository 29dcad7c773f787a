"""Entities and their edges, and edges between memories."""

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Index, Q, UniqueConstraint
from django.utils import timezone
from pgvector.django import VectorField

from memories.models.check_constraints import choice_checks, distinct_check, range_checks
from memories.models.choices import EdgeKind
from memories.models.keys import InNamespace, Namespaced
from memories.models.references import Reference

if TYPE_CHECKING:
    from memories.models.memory import Memory

MAX_NAME_CHARS = 300


class Entity(Namespaced):
    """A person or thing that memories mention."""

    name = models.CharField(max_length=MAX_NAME_CHARS)
    normalised = models.CharField(max_length=MAX_NAME_CHARS)
    kind = models.CharField(max_length=50, blank=True)
    registered = models.BooleanField(
        default=True, help_text="created explicitly; otherwise deleted with the last memory that mentions it"
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "normalised", "kind"], name="entity_once")]
        indexes = [Index(fields=["namespace", "-created_at", "id"], name="entity_recent")]
        verbose_name_plural = "entities"

    def __str__(self) -> str:
        return self.name


class EntityAlias(Namespaced):
    """Another name of an entity."""

    entity_id = models.UUIDField()
    entity: Reference[Entity] = Reference(Entity, related_name="aliases")
    name = models.CharField(max_length=MAX_NAME_CHARS)
    normalised = models.CharField(max_length=MAX_NAME_CHARS)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "normalised", "entity_id"], name="entityalias_once")]
        indexes = [Index(fields=["namespace", "entity_id"], name="entityalias_entity")]

    def __str__(self) -> str:
        return self.name


class NameKey(InNamespace):
    """A key by which an entity is found: the beginning of a name, a part of it, or a piece a misspelling leaves."""

    pk = models.CompositePrimaryKey("namespace_id", "key", "entity_id")
    key = models.TextField()
    entity_id = models.UUIDField()
    entity: Reference[Entity] = Reference(Entity, related_name="name_keys")

    class Meta:
        indexes = [Index(fields=["namespace", "entity_id"], name="namekey_entity")]

    def __str__(self) -> str:
        return self.key


class Mention(Namespaced):
    """A mention of an entity in a memory."""

    memory_id = models.UUIDField()
    memory: Reference["Memory"] = Reference("Memory", related_name="mentions")
    entity_id = models.UUIDField()
    entity: Reference[Entity] = Reference(Entity, related_name="mentions")
    confidence = models.FloatField(default=1.0)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "entity_id"], name="mention_once"),
            *range_checks(0, 1, "confidence"),
        ]
        indexes = [Index(fields=["namespace", "entity_id", "memory_id"], name="mention_entity")]

    def __str__(self) -> str:
        return f"{self.entity_id} in {self.memory_id}"


class EntityEdge(Namespaced):
    """A typed relation between two entities, and the memory it comes from."""

    source_id = models.UUIDField()
    source: Reference[Entity] = Reference(Entity, related_name="edges_out")
    predicate = models.CharField(max_length=200)
    target_id = models.UUIDField()
    target: Reference[Entity] = Reference(Entity, related_name="edges_in")
    confidence = models.FloatField(default=1.0)
    memory_id = models.UUIDField(null=True)
    memory: Reference["Memory | None"] = Reference("Memory", related_name="entity_edges")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["namespace", "source_id", "predicate", "target_id", "memory_id"],
                nulls_distinct=False,
                name="entityedge_once",
            ),
            *range_checks(0, 1, "confidence"),
        ]
        indexes = [
            Index(fields=["namespace", "target_id"], name="entityedge_target"),
            Index(fields=["namespace", "memory_id"], name="entityedge_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.predicate} {self.target_id}"


class MemoryEdge(Namespaced):
    """A typed relation between two memories."""

    source_id = models.UUIDField()
    source: Reference["Memory"] = Reference("Memory", related_name="edges_out")
    target_id = models.UUIDField()
    target: Reference["Memory"] = Reference("Memory", related_name="edges_in")
    kind = models.CharField(max_length=15, choices=EdgeKind)
    weight = models.FloatField(default=1.0)
    cosine = models.FloatField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "source_id", "kind", "target_id"], name="memoryedge_once"),
            *choice_checks(kind=EdgeKind),
            *range_checks(0, 1, "weight"),
            *range_checks(-1, 1, "cosine"),
            distinct_check("source_id", "target_id"),
            # From the later memory to the earlier (ids sort by time), so each pair is stored once.
            models.CheckConstraint(
                condition=~Q(kind=EdgeKind.CONTRADICTION) | Q(source_id__gt=F("target_id")),
                name="memoryedge_later_contradicts",
            ),
        ]
        indexes = [
            Index(fields=["namespace", "target_id"], name="memoryedge_target"),
            # Few edges are contradictions, and every retrieval looks for those of its candidates.
            *(
                Index(
                    fields=["namespace", f"{end}_id"], condition=Q(kind=EdgeKind.CONTRADICTION), name=f"dispute_{end}"
                )
                for end in ("source", "target")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id}"


class Cluster(Namespaced):
    """A cluster of similar memories, with its centroid."""

    label = models.CharField(max_length=200, blank=True)
    embedder = models.CharField(max_length=100)
    centroid = VectorField()
    size = models.PositiveIntegerField()
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [Index(fields=["namespace", "embedder"], name="cluster_embedder")]

    def __str__(self) -> str:
        return self.label or str(self.id)
