"""The write policy in force."""

from memories.models import Namespace
from scoring.policy import WritePolicyParams, policy_for, with_shipped_thresholds


def current_write_policy(namespace: Namespace) -> WritePolicyParams:
    """The published policy of a namespace, or the defaults; untuned thresholds are those of its embedder."""
    publication = namespace.serving
    version = publication.policy_version if publication else None
    if version is None:
        return policy_for(namespace.embedder)
    return with_shipped_thresholds(WritePolicyParams.of(version.params), namespace.embedder)


def has_foreign_thresholds(namespace: Namespace, policy: WritePolicyParams) -> bool:
    """Whether a policy's thresholds were set for another embedder, whose cosines are not comparable."""
    return policy.thresholds_for not in (namespace.embedder, "other")
