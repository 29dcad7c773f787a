"""Jobs: parameters, progress and result."""

from django.db import models
from django.db.models import Index, Q, UniqueConstraint
from django.utils import timezone

from memories.models.check_constraints import choice_checks
from memories.models.choices import JobKind, JobState
from memories.models.keys import Namespaced

# Jobs on a whole namespace, of which only one may be unfinished.
EXCLUSIVE = (JobKind.INDEX, JobKind.MEASURE, JobKind.RECOMPUTE, JobKind.REEMBED, JobKind.REFLECT, JobKind.SHADOW)
UNFINISHED = (JobState.QUEUED, JobState.RUNNING)


class Job(Namespaced):
    """A job; the queue holds only its id."""

    kind = models.CharField(max_length=15, choices=JobKind)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    params = models.JSONField(default=dict)
    step = models.CharField(max_length=50, blank=True, help_text="current step")
    done = models.PositiveIntegerField(default=0, help_text="units of the step that are done")
    total = models.PositiveIntegerField(null=True, help_text="units in all; empty: not known yet")
    result = models.JSONField(default=dict, help_text="result of each step, by its name")
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    run = models.UUIDField(null=True, help_text="id of the current attempt; an earlier one must not write any more")
    by = models.CharField(max_length=200, blank=True, help_text="the user, API key or command")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    moved_at = models.DateTimeField(null=True, help_text="time of the last progress update")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["namespace", "kind"],
                condition=Q(kind__in=EXCLUSIVE, state__in=UNFINISHED),
                name="job_one_unfinished",
            ),
            *choice_checks(kind=JobKind, state=JobState),
        ]
        indexes = [Index(fields=["namespace", "-created_at", "id"], name="job_recent")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.state}"
