"""Write parameters that were tried or fitted, as a version of the policy that is not in force yet."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import Namespace, WritePolicyVersion
from memories.tuning import policies
from memories.writing.policy import policy_of

USUAL = "default"  # the policy's name where none serves


def keep(namespace: Namespace, moved: Mapping[str, Any], *, note: str, by: str) -> WritePolicyVersion:
    """Keep what was moved as the next version of the policy that serves; nothing is decided by it yet."""
    whole = policy_of(namespace).but(**moved)
    return policies.add_version(namespace, name=serving_name(namespace), params=whole.as_dict(), note=note, by=by)


def draft(namespace: Namespace, named: str) -> WritePolicyVersion | None:
    """The version that an address names, while another one serves."""
    try:
        version = version_of(namespace, UUID(named))
    except ValueError:
        return None
    serving = namespace.serving
    return None if version is None or (serving and serving.policy_version_id == version.id) else version


def version_of(namespace: Namespace, id: UUID) -> WritePolicyVersion | None:
    """A version of a write policy of the namespace."""
    return WritePolicyVersion.objects.within(namespace).filter(id=id).select_related("policy").first()


def serving_name(namespace: Namespace) -> str:
    """The name of the policy that serves."""
    serving = namespace.serving
    version = serving.policy_version if serving else None
    return version.policy.name if version else USUAL
