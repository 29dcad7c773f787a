"""Publishes a write policy draft and recomputes memories under it; shared by the pages that save drafts."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest

from memories.jobs.submission import BusyError, submit_job
from memories.models import Namespace, WritePolicyVersion
from memories.models.choices import JobKind, Role
from memories.pages.access import require_role
from memories.tuning import policy_versions
from memories.web.profile_bodies import policy_version_or_404


def publish_policy_draft(request: HttpRequest, namespace: Namespace, id: UUID) -> WritePolicyVersion:
    """Publish a draft; requires the admin role."""
    access = require_role(request, namespace, Role.ADMIN)
    version = policy_version_or_404(namespace, id)
    policy_versions.publish_policy(namespace, version.id, note=version.note, by=access.caller)
    return version


def publish_and_recompute(request: HttpRequest, namespace: Namespace, id: UUID) -> None:
    """Publish a draft, recompute stored memories under it if the form asks for that, and say so."""
    version = publish_policy_draft(request, namespace, id)
    message = f"Version {version.number} of {version.policy.name} is now in force."
    if "recompute" in request.POST:
        message += f" {start_recompute(request, namespace, id)}"
    messages.success(request, message)


def start_recompute(request: HttpRequest, namespace: Namespace, id: UUID) -> str:
    """Start a job that recomputes stored memories under a policy version; return the message to show."""
    access = require_role(request, namespace, Role.ADMIN)
    try:
        submit_job(namespace, JobKind.RECOMPUTE, {"version": str(id)}, by=access.caller)
    except BusyError as error:
        return str(error)
    return "Stored memories are recomputed by a job; Health shows its progress."
