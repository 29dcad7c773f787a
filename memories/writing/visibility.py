"""Search visibility: postings and vectors kept in sync with a memory's status."""

from collections.abc import Sequence
from uuid import UUID

from memories.models import MemoryVector, Namespace
from memories.writing import posting_index


def show_memories(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Make memories searchable again; the caller holds the namespace lock."""
    posting_index.index_postings(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=True, written=namespace.writing)


def hide_memories(namespace: Namespace, ids: Sequence[UUID]) -> None:
    """Remove memories from search; their vectors stay for queries about the past."""
    posting_index.remove_postings(namespace, ids)
    MemoryVector.objects.within(namespace).filter(memory_id__in=ids).update(active=False)
