"""Traces: everything needed to explain and replay a retrieval."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Index, Q
from django.utils import timezone

from memories.models.immutable import Immutable
from memories.models.namespace import ApiKey
from memories.models.packed_json import PackedJSONField
from memories.models.references import Reference
from memories.models.tuning import ProfileVersion


class Trace(Immutable):
    """One retrieval, its request and answer; partitioned by day over the id, which sorts by time."""

    at = models.DateTimeField(default=timezone.now)
    as_of = models.DateTimeField(help_text="the time that ages were measured from")
    query = models.TextField()
    request = models.JSONField(default=dict)
    profile_version_id = models.UUIDField(null=True)
    profile_version: Reference[ProfileVersion | None] = Reference(ProfileVersion, related_name="traces", cascade=False)
    system = models.CharField(max_length=50)
    params = models.JSONField(default=dict)
    plan = models.JSONField(default=dict)

    layout = models.PositiveSmallIntegerField(default=1, help_text="version of the packing below")
    # Not indexed: only an erasure looks for it, by a scan.
    candidates = ArrayField(models.UUIDField(), help_text="memory ids")
    signals = models.BinaryField(help_text="the arrays scored, in the candidates' order")
    answer = PackedJSONField(default=dict)
    results = models.PositiveSmallIntegerField(default=0, help_text="number of results")
    abstained = models.BooleanField(default=False)
    best_score = models.FloatField(null=True)
    took_ms = models.JSONField(default=dict, help_text="by step")

    api_key_id = models.UUIDField(null=True)
    api_key: Reference[ApiKey | None] = Reference(ApiKey, related_name="traces", cascade=False)
    shadow = models.BooleanField(default=False, help_text="answered by the shadow, never returned to a caller")
    against = models.JSONField(null=True, help_text="comparison of a shadow's answer with the one returned")

    class Meta:
        indexes = [
            Index(fields=["namespace", field], condition=Q(**{f"{field}__isnull": False}), name=f"trace_{name}")
            for name, field in {"profile": "profile_version_id", "api_key": "api_key_id"}.items()
        ]

    def __str__(self) -> str:
        return self.query
