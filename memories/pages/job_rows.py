"""Long work as pages show it."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from memories.jobs.registry import job_completion
from memories.models import ApiKey, Job, Namespace
from memories.models.job import UNFINISHED

FINISHED = 8  # that are listed
WAITING = 20


def jobs(namespace: Namespace) -> dict[str, Any]:
    """What runs and waits, oldest first, and what ended last."""
    all = Job.objects.within(namespace)
    open = list(all.filter(state__in=UNFINISHED).order_by("created_at", "id")[:WAITING])
    ended = list(all.exclude(state__in=UNFINISHED).order_by("-created_at", "id")[:FINISHED])
    told = shown(namespace, [*open, *ended])
    return {"open": told[: len(open)], "ended": told[len(open) :]}


def shown(namespace: Namespace, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Jobs with how much is done of each, and who asked for it."""
    names = callers(namespace, {job.by for job in jobs})
    return [
        {"job": job, "percent": 100 * job_completion(job), "by": names.get(job.by, job.by), "took": lasting(job)}
        for job in jobs
    ]


def lasting(job: Job) -> str:
    """How long a job took, where it has ended: in seconds, and from two minutes on in minutes."""
    if job.started_at is None or job.finished_at is None:
        return ""
    seconds = (job.finished_at - job.started_at).total_seconds()
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def callers(namespace: Namespace, by: set[str]) -> dict[str, str]:
    """The names of those that a job knows by their numbers."""
    users = {int(one[1]): one[0] for text in by if (one := re.fullmatch(r"user (\d+)", text))}
    keys = {UUID(one[1]): one[0] for text in by if (one := re.fullmatch(r"key ([0-9a-f-]{36})", text))}
    named: dict[str, str] = {}
    if users:
        found = get_user_model().objects.filter(pk__in=users)
        named |= {users[user.pk]: user.get_username() for user in found}
    if keys:
        known = ApiKey.objects.within(namespace).filter(id__in=keys)
        named |= {keys[key.id]: f"key “{key.name}”" for key in known}
    return named
