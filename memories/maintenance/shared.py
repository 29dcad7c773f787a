"""What others have said as well as a user who is to be forgotten: it stays, and is theirs from then on."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Coalesce

from memories.maintenance.survivors import weigh_again
from memories.models import Memory, MemorySource, Namespace
from memories.models.keys import NamespacedQuerySet
from memories.writing.bulk_copy import bulk_update_columns


def said_by_others(namespace: Namespace, memories: Collection[UUID], user: str) -> NamespacedQuerySet[Any]:
    """The sources of memories that are another user's, the first first."""
    sources = MemorySource.objects.within(namespace).filter(memory_id__in=memories)
    named = sources.annotate(said_by=Coalesce("session__user", "turn__session__user"))
    return named.filter(said_by__gt="").exclude(said_by=user).order_by("observed_at", "id")


def shared(namespace: Namespace, memories: Collection[UUID], user: str) -> set[UUID]:
    """Those memories that another user has said, too."""
    return set(said_by_others(namespace, memories, user).values_list("memory_id", flat=True))


def hand_over(namespace: Namespace, memories: Collection[UUID], user: str) -> int:
    """Let memories belong to the first of the others who said them; the caller holds the lock."""
    heirs: dict[UUID, Any] = {}
    for source in said_by_others(namespace, memories, user):
        heirs.setdefault(source.memory_id, source)
    rows = list(Memory.objects.within(namespace).filter(id__in=heirs))
    # Of a source that names nobody, the owner is the likeliest.
    nameless = Q(session_id=None, turn_id=None, memory_id__in=[row.id for row in rows if row.user == user])
    MemorySource.objects.within(namespace).filter(nameless).delete()
    for row in rows:
        heir = heirs[row.id]
        if row.user == user:
            row.user, row.evidence = heir.said_by, ""
        row.session_id, row.turn_id = heir.session_id, heir.turn_id
    bulk_update_columns(rows, ["user", "evidence", "session_id", "turn_id"])
    weigh_again(namespace, heirs)
    return len(rows)
