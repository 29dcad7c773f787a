"""Write policies: versioned, and published as a whole."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, Publication, WritePolicyVersion
from memories.tuning import versions
from scoring import policy


def add_policy_version(
    namespace: Namespace, *, name: str, params: Mapping[str, Any], note: str, by: str
) -> WritePolicyVersion:
    """Store a configuration as the next version of a policy; raises ParamsError.

    What it leaves out is as shipped for the namespace's embedder.
    """
    complete = policy.WritePolicyParams.of({**policy.embedder_defaults(namespace.embedder), **params}).as_dict()
    return versions.add_next_version(
        WritePolicyVersion, namespace, name=name, params=complete, note=note, created_by=by
    )


@transaction.atomic
def publish_policy(namespace: Namespace, version_id: UUID, *, note: str, by: str) -> Publication:
    """Make a policy version serve; the serving profile is unchanged."""
    return versions.save_publication(
        namespace, versions.lock_serving(namespace), note=note, by=by, policy_version_id=version_id
    )
