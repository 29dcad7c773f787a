"""Write policies: kept version by version, published with one act."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, NamespaceStatistics, Publication, WritePolicy, WritePolicyVersion
from scoring import policy


@transaction.atomic
def add_version(
    namespace: Namespace, *, name: str, params: Mapping[str, Any], note: str, by: str
) -> WritePolicyVersion:
    """Keep a setting as the next version of a policy; values that break a bound are refused (ParamsError)."""
    whole = policy.WritePolicy.of(params).as_dict()
    made, _ = WritePolicy.objects.get_or_create(namespace=namespace, name=name)
    # Two at a time must not both become the next version.
    WritePolicy.objects.within(namespace).select_for_update().get(id=made.id)
    last = WritePolicyVersion.objects.within(namespace).filter(policy_id=made.id).order_by("number").last()
    version = WritePolicyVersion(
        namespace=namespace,
        policy_id=made.id,
        number=last.number + 1 if last else 1,
        params=whole,
        parent_id=last.id if last else None,
        note=note,
        created_by=by,
    )
    version.save()
    return version


@transaction.atomic
def publish(namespace: Namespace, version: UUID, *, note: str, by: str) -> Publication:
    """Let a version decide from now on what new evidence counts; the profile that serves stays."""
    # What is served is read and written anew, so one at a time.
    NamespaceStatistics.objects.select_for_update().get(namespace=namespace)
    serving = namespace.serving
    publication = Publication(
        namespace=namespace,
        policy_version_id=version,
        profile_version_id=serving.profile_version_id if serving else None,
        note=note,
        published_by=by,
    )
    publication.save()
    return publication
