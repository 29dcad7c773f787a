"""The rows of the lexical index."""

from typing import Any
from uuid import UUID

from memories.models import Namespace, NamespaceStatistics, Posting, PredicatePosting, TermStatistic


def indexed_memories(namespace: Namespace) -> tuple[int, set[UUID]]:
    """The document count in the statistics, and the memories with postings."""
    documents = NamespaceStatistics.objects.get(namespace=namespace).documents
    return documents, set(Posting.objects.within(namespace).values_list("memory_id", flat=True))


def search_index_rows(namespace: Namespace) -> Any:
    """What is found by words."""
    return (
        list(NamespaceStatistics.objects.within(namespace).values_list("documents", "total_length")),
        set(Posting.objects.within(namespace).values_list("term", "memory_id", "frequency")),
        set(PredicatePosting.objects.within(namespace).values_list("term", "memory_id", "level")),
        set(TermStatistic.objects.within(namespace).filter(documents__gt=0).values_list("term", "documents")),
    )
