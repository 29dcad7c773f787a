"""What profiles and write policies have in common: numbered versions, and one record of what serves."""

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
from memories.writing.refusal import RefusedError

V = TypeVar("V", ProfileVersion, WritePolicyVersion)
OF: dict[type, tuple[type[Profile] | type[WritePolicy], str]] = {
    ProfileVersion: (Profile, "profile_id"),
    WritePolicyVersion: (WritePolicy, "policy_id"),
}
ANY = object()  # whatever was published last


@transaction.atomic
def add(kind: type[V], namespace: Namespace, *, name: str, parent: UUID | None = None, **said: Any) -> V:
    """Keep the next version of what goes by a name; without a parent of its own it follows the one before it."""
    whole, column = OF[kind]
    made, _ = whole.objects.get_or_create(namespace=namespace, name=name)
    # Two at a time must not both become the next version.
    whole.objects.within(namespace).select_for_update().get(id=made.id)
    last = kind.objects.within(namespace).filter(**{column: made.id}).order_by("number").last()
    number, before = (last.number + 1, last.id) if last else (1, None)
    version = kind(namespace=namespace, **{column: made.id}, number=number, parent_id=parent or before, **said)
    version.save()
    return version


def alone(namespace: Namespace, expected: object = ANY) -> Publication | None:
    """What serves, while nobody else publishes; refused where it is not what the caller saw.

    What is served is read and written anew, so one at a time, until the caller's transaction ends.
    """
    NamespaceStatistics.objects.get_or_create(namespace=namespace)  # a namespace without memories has none yet
    NamespaceStatistics.objects.select_for_update().get(namespace=namespace)
    serving = namespace.serving
    if expected is not ANY and expected != (serving.id if serving else None):
        who = f" by {serving.published_by}" if serving and serving.published_by else ""
        when = f" at {serving.published_at:%Y-%m-%d %H:%M:%S} UTC" if serving else ""
        raise RefusedError(f"Something else was published{who}{when}; look at it first, then decide.", "overtaken")
    return serving


def serve(
    namespace: Namespace,
    serving: Publication | None,
    *,
    note: str,
    by: str,
    rolled_back: bool = False,
    **changed: UUID | None,
) -> Publication:
    """Write down what serves from now on: what is changed, and all else as before."""
    kept = {name: getattr(serving, name, None) for name in ("profile_version_id", "policy_version_id")}
    said = {"note": note, "published_by": by, "rolled_back": rolled_back}
    publication = Publication(namespace=namespace, **kept | changed, **said)
    publication.save()
    return publication
