"""Profiles and write policies, their versions and publications."""

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Index, UniqueConstraint
from django.utils import timezone

from memories.models.check_constraints import range_checks
from memories.models.immutable import Immutable
from memories.models.keys import Namespaced
from memories.models.references import Reference

if TYPE_CHECKING:
    from memories.models.namespace import Namespace


class Profile(Namespaced):
    """A named ranking configuration; its versions hold a system and its parameters."""

    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "name"], name="profile_name_once")]

    def __str__(self) -> str:
        return self.name


class ProfileVersion(Immutable):
    """A version of a profile: a system with its parameters."""

    profile_id = models.UUIDField()
    profile: Reference[Profile] = Reference(Profile, related_name="versions")
    number = models.PositiveIntegerField()
    system = models.CharField(max_length=50)
    params = models.JSONField(default=dict)
    parent_id = models.UUIDField(null=True)
    parent: Reference["ProfileVersion | None"] = Reference("self", related_name="children", cascade=False)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "profile_id", "number"], name="profileversion_once")]
        indexes = [Index(fields=["namespace", "parent_id"], name="profileversion_parent")]

    def __str__(self) -> str:
        return f"{self.system} v{self.number}"


class WritePolicy(Namespaced):
    """A named write configuration; its versions hold the write parameters."""

    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "name"], name="writepolicy_name_once")]
        verbose_name_plural = "write policies"

    def __str__(self) -> str:
        return self.name


class WritePolicyVersion(Immutable):
    """A version of a write policy."""

    policy_id = models.UUIDField()
    policy: Reference[WritePolicy] = Reference(WritePolicy, related_name="versions")
    number = models.PositiveIntegerField()
    params = models.JSONField(default=dict)
    parent_id = models.UUIDField(null=True)
    parent: Reference["WritePolicyVersion | None"] = Reference("self", related_name="children", cascade=False)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace", "policy_id", "number"], name="writepolicyversion_once")]
        indexes = [Index(fields=["namespace", "parent_id"], name="writepolicyversion_parent")]

    def __str__(self) -> str:
        return f"v{self.number}"


class Publication(Immutable):
    """What a namespace serves from a time on; the newest counts, and a roll-back is a new one with old versions."""

    profile_version_id = models.UUIDField(null=True)
    profile_version: Reference[ProfileVersion | None] = Reference(
        ProfileVersion, related_name="publications", cascade=False
    )
    policy_version_id = models.UUIDField(null=True)
    policy_version: Reference[WritePolicyVersion | None] = Reference(
        WritePolicyVersion, related_name="publications", cascade=False
    )
    rolled_back = models.BooleanField(default=False, help_text="whether it undoes the publication before it")
    note = models.TextField(blank=True)
    published_at = models.DateTimeField(default=timezone.now)
    published_by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["published_at", "id"]
        indexes = [
            Index(fields=["namespace", "-published_at", "-id"], name="publication_recent"),
            Index(fields=["namespace", "profile_version_id"], name="publication_profile"),
            Index(fields=["namespace", "policy_version_id"], name="publication_policy"),
        ]

    def __str__(self) -> str:
        return f"from {self.published_at:%Y-%m-%d %H:%M}"

    @classmethod
    def last_within(cls, namespace: "Namespace") -> "Publication | None":
        """The publication that serves a namespace, with its versions."""
        related = cls.objects.within(namespace).select_related("profile_version__profile", "policy_version")
        return related.order_by("-published_at", "-id").first()


class Shadow(Namespaced):
    """The version that also answers a share of live queries, for comparison only."""

    version_id = models.UUIDField()
    version: Reference[ProfileVersion] = Reference(ProfileVersion, related_name="shadows", cascade=False)
    percent = models.PositiveSmallIntegerField(help_text="share of the traces that it answers")
    since = models.DateTimeField(default=timezone.now)
    seen = models.UUIDField(null=True, help_text="last trace processed; empty: none yet")
    by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [UniqueConstraint(fields=["namespace"], name="shadow_once"), *range_checks(1, 100, "percent")]
        indexes = [Index(fields=["namespace", "version_id"], name="shadow_version")]

    def __str__(self) -> str:
        return f"{self.percent} % since {self.since:%Y-%m-%d %H:%M}"
