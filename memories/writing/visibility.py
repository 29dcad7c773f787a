"""Whether memories can be found: their words and vectors, kept in step with their status."""

from collections.abc import Sequence
from uuid import UUID

from memories.models import MemoryVector, Namespace
from memories.writing import words


def show(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Let memories that are active again be found; the caller holds the namespace's lock."""
    words.index(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=True, written=namespace.writing)


def hide(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Take memories that are active no longer out of every search; their vectors stay for answers about the past."""
    words.unindex(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=False)
