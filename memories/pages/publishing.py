"""The second step of every page that keeps a draft: let it decide."""

from uuid import UUID

from django.http import Http404, HttpRequest

from memories.models import Namespace, WritePolicyVersion
from memories.models.choices import Role
from memories.pages.access import demanded
from memories.tuning import policies
from memories.tuning.drafts import version_of


def publish(request: HttpRequest, namespace: Namespace, id: UUID) -> WritePolicyVersion:
    """Let a draft decide from now on, if an admin asks."""
    access = demanded(request, namespace, Role.ADMIN)
    version = version_of(namespace, id)
    if version is None:
        raise Http404(f"There is no policy version {id} here.")
    policies.publish(namespace, version.id, note=version.note, by=access.caller)
    return version
