"""The write policy in force."""

from memories.models import Namespace
from scoring.policy import WritePolicyParams


def current_write_policy(namespace: Namespace) -> WritePolicyParams:
    """The published policy of a namespace, or the shipped defaults."""
    publication = namespace.serving
    version = publication.policy_version if publication else None
    return WritePolicyParams.of(version.params) if version else WritePolicyParams()
