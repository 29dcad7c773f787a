"""What profiles and write policies share: numbered versions, and the publication log."""

from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from memories.models import (
    Namespace,
    NamespaceStatistics,
    Profile,
    ProfileVersion,
    Publication,
    WritePolicy,
    WritePolicyVersion,
)
from memories.writing.write_errors import RefusedError

V = TypeVar("V", ProfileVersion, WritePolicyVersion)
CONTAINERS: dict[type, tuple[type[Profile] | type[WritePolicy], str]] = {
    ProfileVersion: (Profile, "profile_id"),
    WritePolicyVersion: (WritePolicy, "policy_id"),
}
ANY_PUBLICATION = object()  # do not check what is serving


@transaction.atomic
def add_next_version(
    model: type[V], namespace: Namespace, *, name: str, parent: UUID | None = None, **fields: Any
) -> V:
    """Store the next version under a name; the parent defaults to the version before it."""
    container_model, foreign_key = CONTAINERS[model]
    container, _ = container_model.objects.get_or_create(namespace=namespace, name=name)
    # Serialise concurrent writers so that version numbers stay unique.
    container_model.objects.within(namespace).select_for_update().get(id=container.id)
    latest = model.objects.within(namespace).filter(**{foreign_key: container.id}).order_by("number").last()
    number, previous_id = (latest.number + 1, latest.id) if latest else (1, None)
    version = model(
        namespace=namespace, **{foreign_key: container.id}, number=number, parent_id=parent or previous_id, **fields
    )
    version.save()
    return version


def lock_serving(namespace: Namespace, expected: object = ANY_PUBLICATION) -> Publication | None:
    """Lock publications and return the serving one; refused if it is not the expected one.

    The lock is held until the caller's transaction ends.
    """
    NamespaceStatistics.objects.get_or_create(namespace=namespace)  # an empty namespace has no row yet
    NamespaceStatistics.objects.select_for_update().get(namespace=namespace)
    serving = namespace.serving
    if expected is not ANY_PUBLICATION and expected != (serving.id if serving else None):
        who = f" by {serving.published_by}" if serving and serving.published_by else ""
        when = f" at {serving.published_at:%Y-%m-%d %H:%M:%S} UTC" if serving else ""
        raise RefusedError(f"Something else was published{who}{when}; review it first.", "overtaken")
    return serving


def save_publication(
    namespace: Namespace,
    serving: Publication | None,
    *,
    note: str,
    by: str,
    rolled_back: bool = False,
    **changes: UUID | None,
) -> Publication:
    """Append a publication: the changed versions, and the others as before."""
    current = {name: getattr(serving, name, None) for name in ("profile_version_id", "policy_version_id")}
    fields = {"note": note, "published_by": by, "rolled_back": rolled_back}
    publication = Publication(namespace=namespace, **current | changes, **fields)
    publication.save()
    return publication
