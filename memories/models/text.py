"""The lexical index of each namespace: postings of contents and predicates, and term statistics.

Postings are a table rather than a GIN index: exact term frequencies, index-only scans that start with the namespace.
"""

from django.db import models

from memories.models.check_constraints import choice_checks
from memories.models.choices import ChunkLevel
from memories.models.keys import InNamespace, NamespacedQuerySet
from memories.models.memory import Memory
from memories.models.namespace import Namespace
from memories.models.references import ForeignKeyConstraint, Reference


class NamespaceStatistics(models.Model):
    """A namespace's number of active memories and their total length; its row lock serialises writes."""

    namespace = models.OneToOneField(
        Namespace, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="statistics"
    )
    documents = models.PositiveIntegerField(default=0)
    total_length = models.PositiveBigIntegerField(default=0)
    writes = models.BigIntegerField(default=0, help_text="number of writes; versions the caches of a process")
    epoch = models.IntegerField(
        default=0, help_text="incremented by what invalidates every cache: another embedder, a restore, an erasure"
    )

    vector_index = models.CharField(
        max_length=63, blank=True, help_text="the HNSW index of the namespace's vectors; empty: they are scanned"
    )

    ef_search = models.PositiveIntegerField(
        default=0, help_text="HNSW search effort that was measured to reach the policy's recall; 0: not measured"
    )

    objects = NamespacedQuerySet.as_manager()

    class Meta:
        constraints = [
            ForeignKeyConstraint(
                name="namespacestatistics_namespace_fk",
                fields=("namespace",),
                to="memories.namespace",
                to_fields=("id",),
            )
        ]
        verbose_name_plural = "namespace statistics"

    def __str__(self) -> str:
        return f"{self.documents} documents"


class TermStatistic(InNamespace):
    """The document frequency of a term."""

    pk = models.CompositePrimaryKey("namespace_id", "term")
    term = models.TextField()
    documents = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.term


class Posting(InNamespace):
    """The frequency of a term in a memory."""

    pk = models.CompositePrimaryKey("namespace_id", "term", "memory_id")
    term = models.TextField()
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="postings")
    frequency = models.PositiveIntegerField()
    # Copies of the memory's columns, also in the primary key's index, so that BM25 reads nothing else.
    length = models.PositiveIntegerField(default=0)
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)

    class Meta:
        constraints = choice_checks(level=ChunkLevel)
        indexes = [
            models.Index(
                fields=["namespace", "memory_id"], include=["term", "frequency", "length"], name="posting_memory"
            )
        ]

    def __str__(self) -> str:
        return f"{self.term} × {self.frequency}"


class PredicatePosting(InNamespace):
    """A term in the predicate of a memory, which `ts_rank_cd` searches beside the content."""

    pk = models.CompositePrimaryKey("namespace_id", "term", "memory_id")
    term = models.TextField()
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="predicate_postings")
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)  # a copy of the memory's

    class Meta:
        constraints = choice_checks(level=ChunkLevel)
        indexes = [models.Index(fields=["namespace", "memory_id"], name="predicateposting_memory")]

    def __str__(self) -> str:
        return self.term
