"""Annotations of memories by people, from which confidence is calibrated."""

from django.db import models
from django.db.models import Index, UniqueConstraint
from django.utils import timezone

from memories.models.check_constraints import choice_checks, range_checks
from memories.models.choices import MemoryType
from memories.models.keys import Namespaced
from memories.models.memory import Memory
from memories.models.references import Reference

MAX_DOMAIN_LENGTH = 50


class Annotation(Namespaced):
    """One annotator's judgement of a memory: its type, whether it is right, its confidence, and the domain."""

    memory_id = models.UUIDField()
    memory: Reference[Memory] = Reference(Memory, related_name="annotations")
    annotator = models.CharField(max_length=200)
    type = models.CharField(max_length=10, choices=MemoryType, help_text="the type the annotator would give it")
    right = models.BooleanField(help_text="whether the memory is correct")
    confidence = models.FloatField(help_text="the confidence the annotator would give it")
    domain = models.CharField(
        max_length=MAX_DOMAIN_LENGTH,
        blank=True,
        default="",
        help_text="what the conversation was about; splits the calibration",
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "memory_id", "annotator"], name="annotation_once"),
            *choice_checks(type=MemoryType),
            *range_checks(0, 1, "confidence"),
        ]
        indexes = [Index(fields=["namespace", "-created_at", "id"], name="annotation_recent")]

    def __str__(self) -> str:
        return f"{self.annotator}: {self.type}, {'right' if self.right else 'wrong'}"
