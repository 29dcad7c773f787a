"""Jobs of a namespace as table rows."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from memories.jobs.registry import job_completion
from memories.models import ApiKey, Job, Namespace
from memories.models.job import UNFINISHED

MAX_FINISHED = 8
MAX_UNFINISHED = 20


def load_job_rows(namespace: Namespace) -> dict[str, Any]:
    """Unfinished jobs, oldest first, and the last finished ones."""
    jobs = Job.objects.within(namespace)
    unfinished = list(jobs.filter(state__in=UNFINISHED).order_by("created_at", "id")[:MAX_UNFINISHED])
    finished = list(jobs.exclude(state__in=UNFINISHED).order_by("-created_at", "id")[:MAX_FINISHED])
    rows = job_rows(namespace, [*unfinished, *finished])
    return {"open": rows[: len(unfinished)], "ended": rows[len(unfinished) :]}


def job_rows(namespace: Namespace, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Jobs with completion, caller and duration."""
    names = caller_names(namespace, {job.by for job in jobs})
    return [
        {"job": job, "percent": 100 * job_completion(job), "by": names.get(job.by, job.by), "took": job_duration(job)}
        for job in jobs
    ]


def job_duration(job: Job) -> str:
    """How long a finished job took, in seconds or minutes."""
    if job.started_at is None or job.finished_at is None:
        return ""
    seconds = (job.finished_at - job.started_at).total_seconds()
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def caller_names(namespace: Namespace, callers: set[str]) -> dict[str, str]:
    """Names of callers that are stored as “user 1” or “key <id>”."""
    users = {int(match[1]): match[0] for text in callers if (match := re.fullmatch(r"user (\d+)", text))}
    keys = {UUID(match[1]): match[0] for text in callers if (match := re.fullmatch(r"key ([0-9a-f-]{36})", text))}
    names: dict[str, str] = {}
    if users:
        names |= {users[user.pk]: user.get_username() for user in get_user_model().objects.filter(pk__in=users)}
    if keys:
        known = ApiKey.objects.within(namespace).filter(id__in=keys)
        names |= {keys[key.id]: f"key “{key.name}”" for key in known}
    return names
