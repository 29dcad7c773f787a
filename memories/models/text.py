"""The lexical index of each namespace: postings of contents and predicates, and term statistics.

Postings are tables rather than a GIN index: exact term frequencies, under keys that start with the namespace.
"""

import numpy as np
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

    last_document = models.PositiveIntegerField(default=0, help_text="the highest document number given so far")

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


class Document(InNamespace):
    """A memory in the lexical index, by the number under which its postings stand.

    A number is given once: a memory that is hidden and shown again has another.
    """

    pk = models.CompositePrimaryKey("namespace_id", "number")
    number = models.PositiveIntegerField()
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="documents")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "memory_id"], name="document_of_memory")]

    def __str__(self) -> str:
        return f"{self.number}: {self.memory_id}"


# A packed posting, as Postgres' int4send and int2send write it; a tsvector counts at most 255 occurrences.
POSTING = np.dtype([("number", ">i4"), ("frequency", ">i2"), ("length", ">i4")])
PACKED_POSTING = "int4send(p.number) || int2send(p.frequency::smallint) || int4send(p.length)"


class Posting(InNamespace):
    """The frequency of a term in a memory, until a large namespace packs it into a block."""

    pk = models.CompositePrimaryKey("namespace_id", "term", "memory_id")
    term = models.TextField()
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="postings")
    # Copies of the document's and the memory's columns, also in the primary key's index, so that BM25 reads nothing
    # else.
    number = models.PositiveIntegerField(default=0)
    frequency = models.PositiveIntegerField()
    length = models.PositiveIntegerField(default=0)
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)

    class Meta:
        constraints = choice_checks(level=ChunkLevel)
        indexes = [models.Index(fields=["namespace", "memory_id"], name="posting_memory")]

    def __str__(self) -> str:
        return f"{self.term} × {self.frequency}"


class PostingBlock(InNamespace):
    """Postings of one term and level, packed in the order of their numbers."""

    pk = models.CompositePrimaryKey("namespace_id", "term", "level", "first")
    term = models.TextField()
    level = models.CharField(max_length=10, choices=ChunkLevel)
    first = models.PositiveIntegerField(help_text="the lowest document number at the time of packing")
    last = models.PositiveIntegerField(help_text="the highest document number")
    packed = models.BinaryField()

    class Meta:
        constraints = choice_checks(level=ChunkLevel)

    def __str__(self) -> str:
        return f"{self.term}, {self.first} to {self.last}"


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
