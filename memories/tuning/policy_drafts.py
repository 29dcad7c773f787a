"""Drafts of the write policy: changed or fitted parameters as an unpublished version."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memories.models import Namespace, WritePolicyVersion
from memories.tuning import policy_versions
from memories.writing.write_policy import current_write_policy

DEFAULT_POLICY_NAME = "default"  # if no policy serves


def save_policy_draft(namespace: Namespace, changes: Mapping[str, Any], *, note: str, by: str) -> WritePolicyVersion:
    """Store changed parameters as the next, unpublished version of the serving policy."""
    policy = current_write_policy(namespace).with_values(**changes)
    return policy_versions.add_policy_version(
        namespace, name=serving_policy_name(namespace), params=policy.as_dict(), note=note, by=by
    )


def find_policy_draft(namespace: Namespace, id_text: str) -> WritePolicyVersion | None:
    """The draft of an id in a URL, unless it serves."""
    try:
        version = find_policy_version(namespace, UUID(id_text))
    except ValueError:
        return None
    serving = namespace.serving
    return None if version is None or (serving and serving.policy_version_id == version.id) else version


def find_policy_version(namespace: Namespace, id: UUID) -> WritePolicyVersion | None:
    """A write policy version by its id."""
    return WritePolicyVersion.objects.within(namespace).filter(id=id).select_related("policy").first()


def serving_policy_name(namespace: Namespace) -> str:
    """The name of the serving policy."""
    serving = namespace.serving
    version = serving.policy_version if serving else None
    return version.policy.name if version else DEFAULT_POLICY_NAME
