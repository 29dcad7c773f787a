"""The write policy in force."""

from memories.models import Namespace
from scoring.policy import WritePolicy


def policy_of(namespace: Namespace) -> WritePolicy:
    """What was published last, else the shipped defaults."""
    serving = namespace.serving
    version = serving.policy_version if serving else None
    return WritePolicy.of(version.params) if version else WritePolicy()
