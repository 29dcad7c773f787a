"""Changing a namespace's embedder without downtime: embed alongside the old vectors, switch, delete the old ones.

Only shipped embedders have an HNSW index; vectors of others are scanned exactly.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memories.ids import uuid7
from memories.jobs.work import Step, Work
from memories.models import Cluster, Memory, MemoryVector, Namespace, NamespaceStatistics, TokenStates
from memories.models.choices import ChunkLevel
from memories.models.keys import NamespacedQuerySet
from memories.providers.embedder import ALLOWED, EmbedderError, embedder, is_known_embedder
from memories.writing.rebuild_vectors import (
    RebuiltVectors,
    complete_sessions,
    mean_session_vectors,
    missing_vectors,
    reembed_vectors,
    store_missing_vectors,
    vector_batches,
    vectors_of_embedder,
)
from memories.writing.remember import lock_namespace

BATCH_SIZE = 200  # rows per transaction
# Each pass embeds what was written during the previous one; the switch handles the rest.
PASSES = 3
GRACE_PERIOD = timedelta(seconds=15)  # longer than any query that started before the switch


def embedder_error(name: str) -> str:
    """Why an embedder cannot be used, or an empty string; loads it and embeds a test text."""
    if not is_known_embedder(name):
        return f"must be one of {ALLOWED}; got {name!r}"
    try:
        embedder(name).embed(["a first word"])
    except (EmbedderError, ValueError, OSError) as error:
        return f"must be an embedder that works here; {name} does not: {error}"
    return ""


def embed_missing_vectors(work: Work) -> None:
    """Store a vector of the new embedder for every text; they are not searched yet."""
    name, namespace = str(work.job.params["embedder"]), work.namespace
    total = vectors_of_embedder(namespace, namespace.embedder).count()

    def store_batch(old: Sequence[MemoryVector], embedded: RebuiltVectors) -> None:
        stored = store_missing_vectors(namespace, name, old, embedded)
        work.record_progress(work.step_result.get("embedded", 0) + stored, total, embedded=stored)

    for _ in range(PASSES):
        missing = missing_vectors(namespace, name).filter(memory_id__lt=uuid7())
        for batch in vector_batches(missing.exclude(level=ChunkLevel.SESSION), BATCH_SIZE):
            embedded = reembed_vectors(namespace, name, batch)
            with transaction.atomic():
                lock_namespace(namespace)
                store_batch(batch, embedded)
        for batch in vector_batches(missing.filter(level=ChunkLevel.SESSION), BATCH_SIZE):
            with transaction.atomic():
                lock_namespace(namespace)
                # Session vectors are means of their exchanges; skip sessions with an exchange that changed meanwhile.
                complete = complete_sessions(namespace, name, batch)
                store_batch(complete, mean_session_vectors(namespace, name, complete))


def switch_embedder(work: Work) -> None:
    """Embed what was written meanwhile and switch to the new embedder, in one transaction."""
    name, namespace, stored = str(work.job.params["embedder"]), work.namespace, 0
    with transaction.atomic():
        lock_namespace(namespace)
        missing = missing_vectors(namespace, name)
        chunks, sessions = missing.exclude(level=ChunkLevel.SESSION), missing.filter(level=ChunkLevel.SESSION)
        # A session without exchanges is embedded as one text.
        steps = ((reembed_vectors, chunks), (mean_session_vectors, sessions), (reembed_vectors, sessions))
        for embed_rows, rows in steps:
            for batch in vector_batches(rows, BATCH_SIZE):
                stored += store_missing_vectors(namespace, name, batch, embed_rows(namespace, name, batch))
        without_text = missing.count()
        Namespace.objects.filter(id=namespace.id).update(embedder=name)
        NamespaceStatistics.objects.filter(namespace=namespace).update(epoch=F("epoch") + 1)
        work.record_progress(1, 1, embedded=stored, without_text=without_text)
    namespace.embedder = name


def delete_old_vectors(work: Work) -> None:
    """Delete the old embedder's vectors, token states and clusters; the next reflection rebuilds the clusters."""
    since = timezone.now()
    while work.step_result.get("cleared") is None and timezone.now() < since + GRACE_PERIOD:
        time.sleep(0.5)
        work.record_progress(0)
    name, namespace = work.namespace.embedder, work.namespace
    for table in (MemoryVector, TokenStates):
        rows: NamespacedQuerySet[Any] = table.objects.within(namespace)
        delete_in_batches(work, rows.exclude(embedder=name))
    clusters = Cluster.objects.within(namespace).exclude(embedder=name)
    members = Memory.objects.within(namespace).filter(cluster_id__in=clusters.values("id"))
    while ids := list(members.values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            lock_namespace(namespace)
            Memory.objects.within(namespace).filter(id__in=ids).update(cluster_id=None)
            work.record_progress(work.job.done + len(ids))
    delete_in_batches(work, clusters)


def delete_in_batches(work: Work, rows: NamespacedQuerySet[Any]) -> None:
    """Delete rows in batches."""
    while ids := list(rows.values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            lock_namespace(work.namespace)
            rows.filter(id__in=ids).delete()
            work.record_progress(work.job.done + len(ids), cleared=len(ids))


STEPS: dict[str, Step] = {"embed": embed_missing_vectors, "switch": switch_embedder, "clear": delete_old_vectors}
