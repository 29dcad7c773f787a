"""Judged queries with their candidates, so that any configuration can be evaluated without new retrievals."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Index, UniqueConstraint
from django.utils import timezone

from memories.models.judgement import JudgedQuery, JudgementSet
from memories.models.keys import Namespaced
from memories.models.references import Reference


class TracedSet(Namespaced):
    """A judgement set with one system's candidates."""

    judgement_set_id = models.UUIDField()
    judgement_set: Reference[JudgementSet] = Reference(JudgementSet, related_name="traced")
    system = models.CharField(max_length=50)
    params = models.JSONField(default=dict, help_text="given parameters that affect candidates")
    writes = models.BigIntegerField(
        default=0, help_text="write counter of the namespace at the start; outdated if it has moved on"
    )
    begun_at = models.DateTimeField(default=timezone.now)
    ready_at = models.DateTimeField(null=True, help_text="empty: not all queries are traced yet")

    class Meta:
        indexes = [Index(fields=["namespace", "judgement_set_id", "system", "-begun_at"], name="tracedset_recent")]

    def __str__(self) -> str:
        return f"{self.system} on {self.judgement_set_id}"


class TracedQuery(Namespaced):
    """One judged query with its candidates, encoded as in traces."""

    traced_set_id = models.UUIDField()
    traced_set: Reference[TracedSet] = Reference(TracedSet, related_name="queries")
    query_id = models.UUIDField()
    query: Reference[JudgedQuery] = Reference(JudgedQuery, related_name="traced")
    plan = models.JSONField(default=dict)
    candidates = ArrayField(models.UUIDField(), help_text="memory ids")
    signals = models.BinaryField(help_text="the arrays scored, in the candidates' order")
    timed_out = models.JSONField(default=list, blank=True, help_text="retrievers that timed out or failed")

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "traced_set_id", "query_id"], name="tracedquery_once")]
        indexes = [Index(fields=["namespace", "query_id"], name="tracedquery_query")]
        verbose_name_plural = "traced queries"

    def __str__(self) -> str:
        return f"{len(self.candidates)} candidates"
