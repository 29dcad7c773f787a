"""Clusters of facts that lie close together, with a middle and a name."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db import connection

from memories.jobs.work import Work
from memories.models import Cluster, Memory, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.reflecting.kmeans import grouped
from memories.reflecting.labels import labels_of
from memories.reflecting.pieces import EXAMPLES, parts
from memories.reflecting.vectors import Vectors, vectors_of
from memories.writing.lock import lock_memories

MOST = 256
TOGETHER = 2_000  # memories in one update
PUT = """
    UPDATE memories_memory m SET cluster_id = put.cluster
    FROM unnest(%s::uuid[], %s::uuid[]) AS put(memory, cluster)
    WHERE m.namespace_id = %s AND m.id = put.memory
"""


def clusters(work: Work) -> None:
    """Group all facts, beginning with the clusters there are, so that they stay the same where they can."""
    ids, vectors = vectors_of(work.namespace)
    if work.step_result.get("under_way") or not current(work.namespace, ids):
        regroup(work, ids, vectors)
    rows = Cluster.objects.within(work.namespace).order_by("-size", "id").values_list("id", "label", "size")
    shown = [{"cluster": str(cluster), "label": label, "size": size} for cluster, label, size in rows[:EXAMPLES]]
    work.step_result.update(clusters=rows.count(), memories=len(ids), examples=shown)
    work.record_progress(len(ids), len(ids))


def current(namespace: Namespace, ids: Sequence[UUID]) -> bool:
    """Whether every fact has its cluster, and every cluster just as many facts as it counts."""
    stored = Cluster.objects.within(namespace).values_list("id", "size", "embedder")
    sizes = {cluster: size for cluster, size, embedder in stored if embedder == namespace.embedder}
    held_by = clusters_of(namespace)
    return len(sizes) == len(stored) and Counter(held_by.get(memory) for memory in ids) == Counter(sizes)


def regroup(work: Work, ids: Sequence[UUID], vectors: Vectors) -> None:
    """Find clusters, put every fact where it belongs, count and name them."""
    namespace = work.namespace
    known = list(Cluster.objects.within(namespace).filter(embedder=namespace.embedder).order_by("-size", "id"))
    count = min(MOST, math.ceil(math.sqrt(len(ids) / 2)))
    middles = np.array([one.centroid for one in known], np.float32).reshape(len(known), vectors.shape[1] if ids else 0)
    centroids, places = grouped(vectors, count, middles) if ids else (middles, np.zeros(0, np.intp))
    with lock_memories(namespace, by=work.job.by):
        rows = stored(work, known, centroids)
        work.step_result["under_way"] = True
        work.record_progress(0, len(ids))
    before = clusters_of(namespace)
    after = {memory: rows[place].id for memory, place in zip(ids, places.tolist(), strict=True)}
    put(work, [(memory, cluster) for memory, cluster in after.items() if before.get(memory) != cluster], len(ids))
    names = labels_of(namespace, after)
    with lock_memories(namespace, by=work.job.by):
        finish(namespace, names)
        work.step_result["under_way"] = False
        work.record_progress(len(ids), len(ids))


def stored(work: Work, known: Sequence[Cluster], centroids: Vectors) -> list[Cluster]:
    """A row for each centroid: those that began as a stored cluster keep its id."""
    rows = list(known[: len(centroids)])
    rows += [
        Cluster(namespace=work.namespace, embedder=work.namespace.embedder, size=0) for _ in centroids[len(rows) :]
    ]
    for row, centroid in zip(rows, centroids, strict=True):
        row.centroid, row.updated_at = centroid, work.now
    Cluster.objects.bulk_update(rows[: len(known)], ["centroid", "updated_at"])
    Cluster.objects.bulk_create(rows[len(known) :])
    return rows


def put(work: Work, moved: Sequence[tuple[UUID, UUID]], total: int) -> None:
    """Write the cluster of each memory that has another one now."""
    done = total - len(moved)
    for block in parts(moved, TOGETHER):
        with lock_memories(work.namespace, by=work.job.by), connection.cursor() as cursor:
            memories, homes = zip(*block, strict=True)
            cursor.execute(PUT, [list(memories), list(homes), work.namespace.id])
            done += len(block)
            work.record_progress(done, total, put=len(block))


def finish(namespace: Namespace, names: Mapping[UUID, str]) -> None:
    """Count what each cluster holds, name it, and remove those that hold nothing."""
    sizes = Counter(clusters_of(namespace).values())
    rows = list(Cluster.objects.within(namespace))
    for row in rows:
        row.size, row.label = sizes[row.id], names.get(row.id, row.label)
    kept = [row for row in rows if row.size and row.embedder == namespace.embedder]
    Cluster.objects.bulk_update(kept, ["size", "label"])
    gone = Cluster.objects.within(namespace).exclude(id__in=[row.id for row in kept])
    # Memories that are active no longer may lie in one still.
    Memory.objects.within(namespace).filter(cluster_id__in=gone.values("id")).update(cluster_id=None)
    gone.delete()


def clusters_of(namespace: Namespace) -> dict[UUID, UUID]:
    """The cluster of each active fact that has one."""
    facts = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    return {memory: cluster for memory, cluster in facts.values_list("id", "cluster_id") if cluster is not None}
