"""Vectors of large namespaces go into the index in the background; until then a scan finds them."""

from django.db import transaction

from memories.jobs.work import Step, Work
from memories.models import MemoryVector, Namespace, NamespaceStatistics
from memories.models.choices import EMBEDDERS
from memories.models.keys import NamespacedQuerySet
from memories.writing.neighbours import SCAN_BELOW

TOGETHER = 200  # vectors in one transaction
WORTHWHILE = 2_000  # vectors outside of the index that a scan finds as fast


def outside(namespace: Namespace) -> NamespacedQuerySet[MemoryVector]:
    """The vectors that the index of the namespace's embedder could have and has not."""
    return MemoryVector.objects.within(namespace).filter(embedder=namespace.embedder, indexed=False)


def due() -> list[Namespace]:
    """The namespaces too large to be scanned, with enough to index."""
    large = NamespaceStatistics.objects.filter(documents__gte=SCAN_BELOW, namespace__embedder__in=EMBEDDERS)
    found = [statistics.namespace for statistics in large.select_related("namespace").order_by("namespace_id")]
    return [namespace for namespace in found if outside(namespace)[WORTHWHILE:].exists()]


def index(work: Work) -> None:
    """Let vectors into the index, piece by piece; nobody has to wait for it."""
    total, done = outside(work.namespace).count(), 0
    while ids := list(outside(work.namespace).order_by("id").values_list("id", flat=True)[:TOGETHER]):
        with transaction.atomic():
            done += MemoryVector.objects.within(work.namespace).filter(id__in=ids).update(indexed=True)
            work.moved(done, max(total, done), indexed=len(ids))


STEPS: dict[str, Step] = {"index": index}
