"""The evidence of memories: conversations, sources, and the history of their scores."""

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Index, Q, UniqueConstraint
from django.utils import timezone

from memories.models.check_constraints import choice_checks, pair_order_check, range_checks
from memories.models.choices import SourceLevel, TurnRole, Verdict
from memories.models.immutable import Immutable
from memories.models.keys import Namespaced
from memories.models.references import Reference

if TYPE_CHECKING:
    from memories.models.memory import Memory

SPEAKER_SEPARATOR = ": "  # between the speaker of a turn and its text

# The columns of a memory whose changes are recorded as events: computed from evidence, and set by the caller.
EVIDENCE_COLUMNS = (
    "confidence",
    "source_strength",
    "repetitions",
    "extractor_confidence",
    "extractor_model",
    "extractor_logprob",
    "type_prior",
    "grounding",
    "grounding_penalty",
    "belief",
    "corroborations",
    "contradictions",
    "useful",
    "not_useful",
    "status",
    "reason",
)
CALLER_COLUMNS = (
    "kind",
    "importance",
    "quality",
    "memory_score",
    "provenance_depth",
    "event_at",
    "event_until",
    "valid_from",
    "valid_until",
)
HISTORY_COLUMNS = (*EVIDENCE_COLUMNS, *CALLER_COLUMNS)


class Session(Namespaced):
    """A conversation between a user and an agent."""

    key = models.CharField(max_length=200, help_text="the name the agent gave it")
    title = models.CharField(max_length=200, blank=True)
    user = models.CharField(max_length=200, blank=True)
    agent = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()

    class Meta:
        # Two users may both call a session "default".
        constraints = [UniqueConstraint(fields=["namespace", "user", "key"], name="session_key_once")]
        indexes = [Index(fields=["namespace", "-started_at", "id"], name="session_recent")]

    def __str__(self) -> str:
        return self.key


class Turn(Namespaced):
    """One utterance of a session."""

    session_id = models.UUIDField()
    session: Reference[Session] = Reference(Session, related_name="turns")
    position = models.PositiveIntegerField(help_text="counts from 1")
    role = models.CharField(max_length=10, choices=TurnRole)
    speaker = models.CharField(max_length=200, blank=True, help_text="the speaker's name, if known")
    text = models.TextField()
    said_at = models.DateTimeField()
    metadata = models.JSONField(default=dict)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "session_id", "position"], name="turn_position_once"),
            *choice_checks(role=TurnRole),
        ]
        indexes = [Index(fields=["namespace", "speaker", "id"], name="turn_latest_of_speaker")]

    def __str__(self) -> str:
        return f"{self.speaker or self.role}{SPEAKER_SEPARATOR}{self.text}"


class MemorySource(Namespaced):
    """One observation of a memory: the turn, session or other source, and how directly it states it."""

    memory_id = models.UUIDField()
    memory: Reference["Memory"] = Reference("Memory", related_name="sources")
    session_id = models.UUIDField(null=True)
    session: Reference[Session | None] = Reference(Session, related_name="sources")
    turn_id = models.UUIDField(null=True)
    turn: Reference[Turn | None] = Reference(Turn, related_name="sources")
    source = models.CharField(
        max_length=200, blank=True, help_text="who or what said it: a user, a document, a tool; empty if unknown"
    )
    level = models.CharField(max_length=20, choices=SourceLevel)
    strength = models.FloatField()
    observed_at = models.DateTimeField()

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["namespace", "memory_id", "turn_id"],
                condition=Q(turn_id__isnull=False),
                name="memorysource_turn_once",
            ),
            # An unnamed source counts as one: repeating it is no new observation.
            UniqueConstraint(
                fields=["namespace", "memory_id", "session_id", "source"],
                condition=Q(turn_id=None),
                nulls_distinct=False,
                name="memorysource_session_or_source_once",
            ),
            *choice_checks(level=SourceLevel),
            *range_checks(0, 1, "strength"),
        ]
        indexes = [
            Index(fields=["namespace", "memory_id", "observed_at"], name="memorysource_memory"),
            Index(fields=["namespace", "turn_id"], name="memorysource_turn"),
            Index(fields=["namespace", "session_id"], name="memorysource_session"),
        ]

    def __str__(self) -> str:
        return self.level


class ScoreEvent(Immutable):
    """One change of a memory's signals, belief or status, and its cause; past states are replayed from these."""

    memory_id = models.UUIDField()
    memory: Reference["Memory"] = Reference("Memory", related_name="events")
    at = models.DateTimeField(default=timezone.now)
    cause = models.CharField(max_length=50)
    before = models.JSONField(default=dict, help_text="the fields that changed")
    after = models.JSONField(default=dict)
    parts = models.JSONField(default=dict, help_text="explanation of the new numbers")
    other_id = models.UUIDField(
        null=True, help_text="the memory that caused it; no foreign key, since history outlives it"
    )
    by = models.CharField(max_length=200, blank=True, help_text="the user or API key")

    class Meta:
        indexes = [
            Index(fields=["namespace", "memory_id", "at", "id"], name="scoreevent_memory"),
            Index(fields=["namespace", "other_id"], condition=Q(other_id__isnull=False), name="scoreevent_other"),
            # Memories whose status has changed since a time, for `as_of`.
            Index(
                fields=["namespace", "at"],
                include=["memory_id"],
                condition=Q(after__has_key="status"),
                name="scoreevent_status",
            ),
        ]

    def __str__(self) -> str:
        return self.cause


class ReviewItem(Namespaced):
    """An escalated pair, waiting for a person or a judge."""

    first_id = models.UUIDField()
    first: Reference["Memory"] = Reference("Memory", related_name="reviews")
    second_id = models.UUIDField()
    second: Reference["Memory"] = Reference("Memory", related_name="reviews_as_second")
    cosine = models.FloatField()
    reason = models.TextField(blank=True)
    state = models.CharField(max_length=15, choices=Verdict, default=Verdict.PENDING)
    created_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["namespace", "first_id", "second_id"], name="reviewitem_pair_once"),
            *choice_checks(state=Verdict),
            *range_checks(-1, 1, "cosine"),
            # Ordered, or the same pair could be stored twice.
            pair_order_check("first_id", "second_id"),
            models.CheckConstraint(
                condition=Q(state=Verdict.PENDING) ^ Q(decided_at__isnull=False), name="reviewitem_verdict_dated"
            ),
        ]
        indexes = [
            Index(fields=["namespace", "second_id"], name="reviewitem_second"),
            Index(fields=["namespace", "state", "-created_at", "id"], name="reviewitem_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.state} at {self.cosine:.3f}"
