"""Memories: content, confidence, and validity in time."""

from collections.abc import Collection

from django.db import models
from django.db.models import Case, F, Index, Q, UniqueConstraint, When
from django.db.models.functions import Coalesce, Length
from django.db.models.lookups import Exact
from django.utils import timezone

from memories.models.check_constraints import choice_checks, distinct_check, order_check, range_checks
from memories.models.choices import STATEMENTS, ChunkLevel, Grounding, Kind, MemoryType, Status
from memories.models.evidence import Session, Turn
from memories.models.graph import Cluster, Entity
from memories.models.keys import InNamespace, Namespaced
from memories.models.references import Reference

UNCERTAIN = "type_uncertain"
# When a memory's event takes place, else when it is valid, else when it was said; the temporal retriever repeats this.
BEGINS = Coalesce("event_at", "valid_from", "happened_at", "created_at")
ENDS = Case(
    When(event_at__isnull=False, then=Coalesce("event_until", "event_at")),
    When(valid_from__isnull=False, then=Coalesce("valid_until", "valid_from")),
    default=BEGINS,
)
# Memories whose type and subject are known: only they are found by time and subject. Retrieval repeats this in SQL.
SETTLED = (Q(type_uncertain=False) | ~Q(level__in=STATEMENTS)) & Q(subject_fallback=None)
IN_WINDOW = ("id", "event_at", "valid_from", "happened_at", "created_at", "level", "status")
MIN_LOGPROB = -1e6  # per token, far below any real one


class Memory(Namespaced):
    """A memory with every number that scoring needs."""

    type = models.CharField(max_length=10, choices=MemoryType)
    type_uncertain = models.BooleanField(default=False, help_text="the given type was unknown, so it counts as a Fact")
    level = models.CharField(max_length=10, choices=ChunkLevel, default=ChunkLevel.FACT)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.GENERAL)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    reason = models.TextField(blank=True, help_text="why it has its status")

    content = models.TextField()
    content_hash = models.BinaryField(
        max_length=32, help_text="SHA-256 of the normalised type, subject, predicate, content"
    )
    length = models.PositiveIntegerField(default=0, help_text="lexemes, as BM25 counts them")
    subject_id = models.UUIDField(null=True)
    subject: Reference[Entity | None] = Reference(Entity, related_name="memories", cascade=False)
    subject_surface = models.CharField(max_length=300, blank=True, help_text="the subject as written")
    subject_fallback = models.UUIDField(null=True, help_text="uuid5 of a subject that could not be resolved")
    predicate = models.CharField(max_length=200, blank=True)
    object = models.TextField(blank=True)
    evidence = models.TextField(blank=True)
    metadata = models.JSONField(default=dict)

    source_strength = models.FloatField(help_text="s")
    repetitions = models.PositiveIntegerField(default=0, help_text="n: independent re-observations")
    extractor_confidence = models.FloatField(help_text="e")
    extractor_model = models.CharField(max_length=200, blank=True)
    extractor_logprob = models.FloatField(null=True, help_text="mean log-probability of the extractor's tokens")
    type_prior = models.FloatField(help_text="t")
    grounding = models.CharField(max_length=12, choices=Grounding, default=Grounding.SUPPORTED)
    grounding_penalty = models.FloatField(default=0.0)
    confidence = models.FloatField(help_text="computed from the above; stored because lists filter by it")
    confirmed_at = models.DateTimeField(null=True)

    belief = models.FloatField(default=5.0)
    corroborations = models.PositiveIntegerField(default=0)
    contradictions = models.PositiveIntegerField(default=0)
    importance = models.FloatField(default=0.5)
    quality = models.FloatField(default=0.5)
    memory_score = models.FloatField(null=True, help_text="memsense's chunk quality; empty: the confidence is used")
    provenance_depth = models.PositiveSmallIntegerField(default=0, help_text="number of hops from the original source")
    useful = models.PositiveIntegerField(default=0)
    not_useful = models.PositiveIntegerField(default=0)
    access_count = models.PositiveIntegerField(default=0)
    last_accessed_at = models.DateTimeField(null=True)

    created_at = models.DateTimeField(default=timezone.now)
    happened_at = models.DateTimeField(null=True, help_text="when it was said or observed")
    event_at = models.DateTimeField(null=True, help_text="when the event it describes takes place")
    event_until = models.DateTimeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_until = models.DateTimeField(null=True)

    user = models.CharField(max_length=200, blank=True)
    agent = models.CharField(max_length=200, blank=True)
    session_id = models.UUIDField(null=True)
    session: Reference[Session | None] = Reference(Session, related_name="memories", cascade=False)
    turn_id = models.UUIDField(null=True)
    turn: Reference[Turn | None] = Reference(Turn, related_name="memories", cascade=False)
    cluster_id = models.UUIDField(null=True)
    cluster: Reference[Cluster | None] = Reference(Cluster, related_name="memories", cascade=False)
    # A merged memory says the same as its survivor, so it is purged with it. A superseded one says something else, so
    # the database refuses to delete its successor: a purge first archives the predecessors, with a reason. They do not
    # become active again: without the correction, what it corrected is still wrong.
    merged_into_id = models.UUIDField(null=True)
    merged_into: Reference["Memory | None"] = Reference("self", related_name="absorbed")
    superseded_by_id = models.UUIDField(null=True)
    superseded_by: Reference["Memory | None"] = Reference("self", related_name="supersedes", cascade=False)

    # The tags of a memory that was just stored, without a query.
    given_tags: Collection[str] | None = None

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            UniqueConstraint(
                fields=["namespace", "content_hash"], condition=Q(status=Status.ACTIVE), name="memory_active_once"
            ),
            *choice_checks(type=MemoryType, level=ChunkLevel, kind=Kind, status=Status, grounding=Grounding),
            *range_checks(
                0, 1, "source_strength", "extractor_confidence", "type_prior", "grounding_penalty", "confidence"
            ),
            *range_checks(0, 1, "importance", "quality", "memory_score"),
            *range_checks(0, 10, "belief"),
            *range_checks(MIN_LOGPROB, 0, "extractor_logprob"),
            order_check("event_at", "event_until"),
            order_check("valid_from", "valid_until"),
            distinct_check("merged_into_id", "id"),
            distinct_check("superseded_by_id", "id"),
            models.CheckConstraint(condition=Exact(Length("content_hash"), 32), name="memory_content_hash_length"),
            models.CheckConstraint(
                condition=Q(subject_id=None) | Q(subject_fallback=None), name="memory_subject_one_way"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.MERGED) | Q(merged_into_id__isnull=False), name="memory_merged_somewhere"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.SUPERSEDED) | Q(superseded_by_id__isnull=False),
                name="memory_superseded_by_one",
            ),
        ]
        indexes = [
            Index(fields=["namespace", "status", "-created_at", "id"], name="memory_recent"),
            Index(fields=["namespace", "status", "type", "-created_at", "id"], name="memory_recent_of_type"),
            Index(fields=["namespace", "user", "status", "-created_at"], name="memory_recent_of_user"),
            *(
                Index(
                    fields=["namespace", *fields], condition=Q(**{f"{fields[0]}__isnull": False}), name=f"memory_{name}"
                )
                for name, fields in {
                    "subject": ["subject_id", "predicate"],
                    "latest_of_subject": ["subject_id", "id"],
                    "subject_fallback": ["subject_fallback"],
                    "session": ["session_id", "level", "happened_at", "id"],
                    "turn": ["turn_id"],
                    "cluster": ["cluster_id"],
                    "merged_into": ["merged_into_id"],
                    "superseded_by": ["superseded_by_id"],
                    "event": ["event_at", "event_until"],
                    "valid_from": ["valid_from"],
                    "valid_until": ["valid_until"],
                }.items()
            ),
            # Covers the temporal retriever's query.
            Index(F("namespace"), BEGINS, condition=SETTLED, include=IN_WINDOW, name="memory_begins"),
            Index(
                F("namespace"),
                ENDS,
                condition=Q(event_until__isnull=False) | Q(valid_until__isnull=False),
                name="memory_lasts",
            ),
            Index(fields=["namespace", "id"], condition=SETTLED, name="memory_settled"),
        ]

    def __str__(self) -> str:
        return self.content

    @property
    def tag_names(self) -> list[str]:
        """Its tags in order, with `type_uncertain` from the column of that name."""
        tags = {tag.tag for tag in self.tags.all()} if self.given_tags is None else set(self.given_tags)
        return sorted(tags | ({UNCERTAIN} if self.type_uncertain else set()))


class MemoryTag(InNamespace):
    """A tag of a memory; a table, because an index on an array cannot start with the namespace."""

    pk = models.CompositePrimaryKey("namespace_id", "tag", "memory_id")
    tag = models.CharField(max_length=100)
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="tags")

    class Meta:
        indexes = [Index(fields=["namespace", "memory_id"], name="memorytag_memory")]

    def __str__(self) -> str:
        return self.tag
