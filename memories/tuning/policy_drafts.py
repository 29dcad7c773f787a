"""Write parameters that were tried or fitted, as a version of the policy that is not in force yet."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import Namespace, WritePolicyVersion
from memories.tuning import policy_versions
from memories.writing.write_policy import current_write_policy

DEFAULT_POLICY_NAME = "default"  # the policy's name where none serves


def save_policy_draft(namespace: Namespace, changes: Mapping[str, Any], *, note: str, by: str) -> WritePolicyVersion:
    """Keep what was moved as the next version of the policy that serves; nothing is decided by it yet."""
    whole = current_write_policy(namespace).with_values(**changes)
    return policy_versions.add_policy_version(
        namespace, name=serving_policy_name(namespace), params=whole.as_dict(), note=note, by=by
    )


def find_policy_draft(namespace: Namespace, id_text: str) -> WritePolicyVersion | None:
    """The version that an address names, while another one serves."""
    try:
        version = find_policy_version(namespace, UUID(id_text))
    except ValueError:
        return None
    serving = namespace.serving
    return None if version is None or (serving and serving.policy_version_id == version.id) else version


def find_policy_version(namespace: Namespace, id: UUID) -> WritePolicyVersion | None:
    """A version of a write policy of the namespace."""
    return WritePolicyVersion.objects.within(namespace).filter(id=id).select_related("policy").first()


def serving_policy_name(namespace: Namespace) -> str:
    """The name of the policy that serves."""
    serving = namespace.serving
    version = serving.policy_version if serving else None
    return version.policy.name if version else DEFAULT_POLICY_NAME
