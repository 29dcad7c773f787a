"""Which memories a caller may list, with their tags."""

from django.db.models import Prefetch

from memories.models import Memory, MemoryTag, Namespace
from memories.models.choices import Role, Status
from memories.models.keys import NamespacedQuerySet
from memories.web.roles import Access


def visible_statuses(access: Access) -> list[str]:
    """The statuses a caller may read: forgotten memories await their purge, visible to admins only."""
    return [status for status in Status.values if status != Status.FORGOTTEN or access.allows(Role.ADMIN)]


def memories_with_tags(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories of a namespace, their tags prefetched in one query."""
    tags = MemoryTag.objects.within(namespace)
    return Memory.objects.within(namespace).prefetch_related(Prefetch("tags", tags))
