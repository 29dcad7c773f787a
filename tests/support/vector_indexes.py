"""A namespace's HNSW index, as a worker builds it for a large one."""

from collections.abc import Sequence
from uuid import UUID

from memories.models import MemoryVector, Namespace, NamespaceStatistics
from memories.writing.vector_index import build_index


def index_vectors(namespace: Namespace, ids: Sequence[UUID] | None = None) -> None:
    """Build the index over some of the namespace's vectors, over all by default, and let it serve."""
    # Postgres does not use an index before the end of a transaction that updated one of its rows in place.
    vectors = MemoryVector.objects.within(namespace).filter(indexed=False)
    (vectors if ids is None else vectors.filter(id__in=ids)).update(indexed=True)
    name = build_index(namespace, namespace.embedder)
    NamespaceStatistics.objects.filter(namespace=namespace).update(vector_index=name)
