"""Publishes a write policy draft; shared by the pages that save drafts."""

from uuid import UUID

from django.http import Http404, HttpRequest

from memories.models import Namespace, WritePolicyVersion
from memories.models.choices import Role
from memories.pages.access import require_role
from memories.tuning import policy_versions
from memories.tuning.policy_drafts import find_policy_version


def publish_policy_draft(request: HttpRequest, namespace: Namespace, id: UUID) -> WritePolicyVersion:
    """Publish a draft; requires the admin role."""
    access = require_role(request, namespace, Role.ADMIN)
    version = find_policy_version(namespace, id)
    if version is None:
        raise Http404(f"There is no policy version {id} in this namespace.")
    policy_versions.publish_policy(namespace, version.id, note=version.note, by=access.caller)
    return version
