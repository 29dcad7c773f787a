"""Test collections: judged queries, their grades and pools, and evaluations on them."""

from django.db import models
from django.db.models import Index, UniqueConstraint
from django.utils import timezone

from memories.models.check_constraints import choice_checks, range_checks
from memories.models.choices import QueryKind, Split
from memories.models.immutable import Immutable
from memories.models.keys import Namespaced
from memories.models.memory import Memory
from memories.models.references import Reference
from memories.models.tuning import ProfileVersion


class JudgementSet(Namespaced):
    """A test collection: queries with graded memories."""

    name = models.CharField(max_length=100)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "name"], name="judgementset_name_once")]

    def __str__(self) -> str:
        return self.name


class JudgedQuery(Namespaced):
    """A query, its user and its time."""

    judgement_set_id = models.UUIDField()
    judgement_set: Reference[JudgementSet] = Reference(JudgementSet, related_name="queries")
    text = models.TextField()
    category = models.CharField(max_length=50, blank=True)
    kind = models.CharField(max_length=15, choices=QueryKind, default=QueryKind.ANSWERABLE)
    overruled = models.BooleanField(
        default=False, help_text="imported as unanswerable, but a memory was graded relevant"
    )
    split = models.CharField(max_length=10, choices=Split, default=Split.TUNE)
    user = models.CharField(max_length=200, blank=True)
    as_of = models.DateTimeField(null=True, help_text="empty: the namespace's now")

    class Meta:
        constraints = choice_checks(kind=QueryKind, split=Split)
        indexes = [Index(fields=["namespace", "judgement_set_id", "split", "id"], name="judgedquery_set")]
        verbose_name_plural = "judged queries"

    def __str__(self) -> str:
        return self.text


class Judgement(Namespaced):
    """How well a memory answers a query: 3 answers it, 2 helps, 1 is related, 0 is not."""

    query_id = models.UUIDField()
    query: Reference[JudgedQuery] = Reference(JudgedQuery, related_name="judgements")
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="judgements")
    grade = models.PositiveSmallIntegerField()
    judged_at = models.DateTimeField(default=timezone.now)
    judged_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "query_id", "memory_id"], name="judgement_once"),
            *range_checks(0, 3, "grade"),
        ]
        indexes = [Index(fields=["namespace", "memory_id"], name="judgement_memory")]

    def __str__(self) -> str:
        return f"grade {self.grade}"


class PooledMemory(Namespaced):
    """A memory that some configurations return for a judged query, to be judged."""

    query_id = models.UUIDField()
    query: Reference[JudgedQuery] = Reference(JudgedQuery, related_name="pooled")
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="pooled")
    ranks = models.JSONField(default=dict, help_text="rank by configuration, counted from 1")
    found_by = models.PositiveSmallIntegerField(help_text="number of configurations that return it")
    best = models.PositiveSmallIntegerField(help_text="best rank")

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "query_id", "memory_id"], name="pooledmemory_once")]
        indexes = [Index(fields=["namespace", "memory_id"], name="pooledmemory_memory")]
        verbose_name_plural = "pooled memories"

    def __str__(self) -> str:
        return f"found by {self.found_by}"


class Evaluation(Immutable):
    """A configuration evaluated on a judgement set."""

    judgement_set_id = models.UUIDField()
    judgement_set: Reference[JudgementSet] = Reference(JudgementSet, related_name="evaluations")
    profile_version_id = models.UUIDField(null=True)
    profile_version: Reference[ProfileVersion | None] = Reference(ProfileVersion, related_name="evaluations")
    system = models.CharField(max_length=50)
    params = models.JSONField(default=dict)
    split = models.CharField(max_length=10, choices=Split, blank=True, help_text="empty: all queries")
    metrics = models.JSONField(default=dict)
    per_query = models.JSONField(default=dict, help_text="each query's metrics, by its id")
    took_ms = models.FloatField()
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [*range_checks(0, 1e12, "took_ms")]
        indexes = [
            Index(fields=["namespace", "judgement_set_id", "-created_at"], name="evaluation_recent"),
            Index(fields=["namespace", "profile_version_id"], name="evaluation_profile"),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.judgement_set_id}"
