"""Accesses of memories, and responses to repeated requests."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Index, UniqueConstraint
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from memories.models.keys import InNamespace, Namespaced
from memories.models.memory import Memory
from memories.models.references import Reference


class SessionReturn(InNamespace):
    """A memory returned in a session; only the first return counts as an access."""

    pk = models.CompositePrimaryKey("namespace_id", "user", "session", "memory_id")
    user = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=200, help_text="the agent's session key; the session may have no turns")
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="returns")
    returned_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [Index(fields=["namespace", "memory_id"], name="sessionreturn_memory")]

    def __str__(self) -> str:
        return f"{self.memory_id} in {self.session}"


class DailyAccess(InNamespace):
    """The number of accesses of a memory on a day (UTC)."""

    pk = models.CompositePrimaryKey("namespace_id", "memory_id", "day")
    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="accesses")
    day = models.DateField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "daily accesses"

    def __str__(self) -> str:
        return f"{self.count} on {self.day}"


class IdempotencyRecord(Namespaced):
    """A write under an idempotency key, and its response, so that a retry does nothing twice."""

    caller = models.CharField(max_length=200, help_text="the user or API key; idempotency keys are per caller")
    key = models.CharField(max_length=200)
    request_hash = models.BinaryField(max_length=32, help_text="SHA-256 of method, path and body")
    status = models.PositiveSmallIntegerField(null=True, help_text="empty while the request is running")
    response = models.JSONField(null=True)
    memory_ids = ArrayField(
        models.UUIDField(), default=list, help_text="memories in the response, so that an erasure finds it"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "caller", "key"], name="idempotencyrecord_once"),
            models.CheckConstraint(
                condition=Exact(Length("request_hash"), 32), name="idempotencyrecord_request_hash_length"
            ),
        ]
        indexes = [Index(fields=["namespace", "expires_at"], name="idempotencyrecord_expiry")]

    def __str__(self) -> str:
        return self.key
