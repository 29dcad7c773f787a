"""Background job: move vectors of large namespaces into the HNSW index; until then a scan finds them."""

from django.db import transaction

from memories.contracts.work import Step, Work
from memories.models import MemoryVector, Namespace, NamespaceStatistics
from memories.models.choices import EMBEDDERS
from memories.models.keys import NamespacedQuerySet
from memories.writing.neighbours import SCAN_BELOW

BATCH_SIZE = 200  # vectors per transaction
MIN_UNINDEXED = 2_000  # unindexed vectors up to which a scan is as fast


def unindexed_vectors(namespace: Namespace) -> NamespacedQuerySet[MemoryVector]:
    """Vectors of the namespace's embedder that are not in the index yet."""
    return MemoryVector.objects.within(namespace).filter(embedder=namespace.embedder, indexed=False)


def namespaces_to_index() -> list[Namespace]:
    """Namespaces too large to scan, with enough vectors to index."""
    large = NamespaceStatistics.objects.filter(documents__gte=SCAN_BELOW, namespace__embedder__in=EMBEDDERS)
    namespaces = [statistics.namespace for statistics in large.select_related("namespace").order_by("namespace_id")]
    return [namespace for namespace in namespaces if unindexed_vectors(namespace)[MIN_UNINDEXED:].exists()]


def index_new_vectors(work: Work) -> None:
    """Index vectors in small transactions; no request waits for it."""
    total, done = unindexed_vectors(work.namespace).count(), 0
    while ids := list(unindexed_vectors(work.namespace).order_by("id").values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            done += MemoryVector.objects.within(work.namespace).filter(id__in=ids).update(indexed=True)
            work.record_progress(done, max(total, done), indexed=len(ids))


STEPS: dict[str, Step] = {"index": index_new_vectors}
