"""Write policies: kept version by version, published with one act."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, Publication, WritePolicyVersion
from memories.tuning import versions
from scoring import policy


def add_version(
    namespace: Namespace, *, name: str, params: Mapping[str, Any], note: str, by: str
) -> WritePolicyVersion:
    """Keep a setting as the next version of a policy; values that break a bound are refused (ParamsError)."""
    whole = policy.WritePolicy.of(params).as_dict()
    return versions.add(WritePolicyVersion, namespace, name=name, params=whole, note=note, created_by=by)


@transaction.atomic
def publish(namespace: Namespace, version: UUID, *, note: str, by: str) -> Publication:
    """Let a version decide from now on what new evidence counts; the profile that serves stays."""
    return versions.serve(namespace, versions.alone(namespace), note=note, by=by, policy_version_id=version)
