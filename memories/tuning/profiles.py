"""Profiles: a system and its parameters, kept version by version."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Namespace, Profile, ProfileVersion
from scoring.systems import SYSTEMS


@transaction.atomic
def add_version(
    namespace: Namespace, *, name: str, system: str, params: Mapping[str, Any], parent: UUID | None, note: str, by: str
) -> ProfileVersion:
    """Keep a setting as the next version of a profile; it serves nobody until it is published (ParamsError)."""
    SYSTEMS[system].params.of(params)
    made, _ = Profile.objects.get_or_create(namespace=namespace, name=name)
    # Two at a time must not both become the next version.
    Profile.objects.within(namespace).select_for_update().get(id=made.id)
    last = ProfileVersion.objects.within(namespace).filter(profile_id=made.id).order_by("number").last()
    version = ProfileVersion(
        namespace=namespace,
        profile_id=made.id,
        number=last.number + 1 if last else 1,
        system=system,
        params=dict(params),
        parent_id=parent or (last.id if last else None),
        note=note,
        created_by=by,
    )
    version.save()
    return version
