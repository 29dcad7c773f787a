"""Namespaces, their members and API keys."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import Exact
from django.utils import timezone

from memories.db.ids import uuid7
from memories.models.check_constraints import choice_checks
from memories.models.choices import Mode, Role
from memories.models.keys import Namespaced
from memories.models.references import Reference
from memories.models.reserved_slugs import reserved_slugs

if TYPE_CHECKING:
    from memories.models.tuning import Publication


class Namespace(models.Model):
    """A tenant: memories isolated from all others."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    mode = models.CharField(max_length=20, choices=Mode, default=Mode.GENERAL)
    text_config = models.CharField(max_length=63, default="english", help_text="Postgres text search configuration")
    embedder = models.CharField(max_length=100, default="all-MiniLM-L6-v2")
    redacts = models.BooleanField(
        default=False, help_text="whether keys, card numbers and e-mail addresses are redacted before storing"
    )
    clock = models.DateTimeField(
        null=True, blank=True, help_text="fixed current time of the namespace; empty: real time"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    writing = 0  # the number of the current write, while this process holds the lock

    class Meta:
        constraints = choice_checks(mode=Mode)

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Reject a slug that a URL of the site uses."""
        if self.slug in reserved_slugs():
            taken = ", ".join(sorted(reserved_slugs()))
            message = f"must not be a word of the site's own URLs ({taken}); got {self.slug}"
            raise ValidationError({"slug": message})

    @property
    def now(self) -> datetime:
        """The current time: the namespace's own clock if set, else the real one."""
        return self.clock or timezone.now()

    @property
    def serving(self) -> "Publication | None":
        """The latest publication; None: the defaults serve."""
        from memories.models.tuning import Publication

        return Publication.last_within(self)


class Membership(models.Model):
    """A user's role in a namespace; a global table, since it is queried by user and edited in the admin."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships", db_index=False)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.READ)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    guided = models.BooleanField(default=True, help_text="whether the Overview shows the first steps")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "namespace"], name="membership_once"),
            *choice_checks(role=Role),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} in {self.namespace}"


class ApiKey(Namespaced):
    """An agent's API key for one namespace; only its hash is stored."""

    name = models.CharField(max_length=200)
    role = models.CharField(max_length=10, choices=Role, default=Role.READ)
    prefix = models.CharField(max_length=20, help_text="first characters of the key, to recognise it")
    hash = models.BinaryField(max_length=32, help_text="SHA-256 of the key")
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    rotated_from_id = models.UUIDField(null=True)
    rotated_from: Reference["ApiKey | None"] = Reference("self", related_name="rotated_to", cascade=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "hash"], name="apikey_hash_once"),
            models.CheckConstraint(condition=Exact(Length("hash"), 32), name="apikey_hash_length"),
            *choice_checks(role=Role),
        ]
        indexes = [models.Index(fields=["namespace", "rotated_from_id"], name="apikey_rotated_from")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
