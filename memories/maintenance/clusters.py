"""Clusters of facts by their vectors, each with a centroid, a size and a label."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np
from django.db import connection

from memories.contracts.work import Work
from memories.maintenance.fact_vectors import Vectors, load_fact_vectors
from memories.maintenance.kmeans import cluster_vectors
from memories.maintenance.reflection_scope import MAX_EXAMPLES, in_batches
from memories.models import Cluster, Memory, Namespace
from memories.models.choices import ChunkLevel, Status
from memories.text.stopwords import STOP_WORDS
from memories.writing.lock import lock_memories

MAX_CLUSTERS = 256
UPDATE_SIZE = 2_000  # memories per UPDATE
ASSIGN_SQL = """
    UPDATE memories_memory m SET cluster_id = assigned.cluster
    FROM unnest(%s::uuid[], %s::uuid[]) AS assigned(memory, cluster)
    WHERE m.namespace_id = %s AND m.id = assigned.memory
"""
LABEL_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{3,}")


def cluster_facts(work: Work) -> None:
    """Cluster all facts, starting from the stored clusters so that they stay stable."""
    ids, vectors = load_fact_vectors(work.namespace)
    if work.step_result.get("under_way") or not are_clusters_current(work.namespace, ids):
        recluster(work, ids, vectors)
    rows = Cluster.objects.within(work.namespace).order_by("-size", "id").values_list("id", "label", "size")
    examples = [{"cluster": str(id), "label": label, "size": size} for id, label, size in rows[:MAX_EXAMPLES]]
    work.step_result.update(clusters=rows.count(), memories=len(ids), examples=examples)
    work.record_progress(len(ids), len(ids))


def are_clusters_current(namespace: Namespace, ids: Sequence[UUID]) -> bool:
    """Whether every fact has a cluster, and every cluster as many facts as its size says."""
    stored = Cluster.objects.within(namespace).values_list("id", "size", "embedder")
    sizes = {cluster: size for cluster, size, embedder in stored if embedder == namespace.embedder}
    assigned = cluster_ids(namespace)
    return len(sizes) == len(stored) and Counter(assigned.get(memory) for memory in ids) == Counter(sizes)


def recluster(work: Work, ids: Sequence[UUID], vectors: Vectors) -> None:
    """Compute centroids, assign every fact, then update sizes and labels."""
    namespace = work.namespace
    known = list(Cluster.objects.within(namespace).filter(embedder=namespace.embedder).order_by("-size", "id"))
    count = min(MAX_CLUSTERS, math.ceil(math.sqrt(len(ids) / 2)))
    start = np.array([row.centroid for row in known], np.float32).reshape(len(known), vectors.shape[1] if ids else 0)
    centroids, labels = cluster_vectors(vectors, count, start) if ids else (start, np.zeros(0, np.intp))
    with lock_memories(namespace, by=work.job.by):
        rows = save_centroids(work, known, centroids)
        work.step_result["under_way"] = True
        work.record_progress(0, len(ids))
    before = cluster_ids(namespace)
    after = {memory: rows[label].id for memory, label in zip(ids, labels.tolist(), strict=True)}
    moved = [(memory, cluster) for memory, cluster in after.items() if before.get(memory) != cluster]
    assign_clusters(work, moved, len(ids))
    names = cluster_labels(namespace, after)
    with lock_memories(namespace, by=work.job.by):
        finish_clusters(namespace, names)
        work.step_result["under_way"] = False
        work.record_progress(len(ids), len(ids))


def save_centroids(work: Work, known: Sequence[Cluster], centroids: Vectors) -> list[Cluster]:
    """A row per centroid; centroids that started from a stored cluster keep its id."""
    rows = list(known[: len(centroids)])
    rows += [
        Cluster(namespace=work.namespace, embedder=work.namespace.embedder, size=0) for _ in centroids[len(rows) :]
    ]
    for row, centroid in zip(rows, centroids, strict=True):
        row.centroid, row.updated_at = centroid, work.now
    Cluster.objects.bulk_update(rows[: len(known)], ["centroid", "updated_at"])
    Cluster.objects.bulk_create(rows[len(known) :])
    return rows


def assign_clusters(work: Work, moved: Sequence[tuple[UUID, UUID]], total: int) -> None:
    """Update the memories whose cluster changed."""
    done = total - len(moved)
    for batch in in_batches(moved, UPDATE_SIZE):
        with lock_memories(work.namespace, by=work.job.by), connection.cursor() as cursor:
            memories, clusters = zip(*batch, strict=True)
            cursor.execute(ASSIGN_SQL, [list(memories), list(clusters), work.namespace.id])
            done += len(batch)
            work.record_progress(done, total, put=len(batch))


def finish_clusters(namespace: Namespace, labels: Mapping[UUID, str]) -> None:
    """Update sizes and labels; delete empty clusters and those of another embedder."""
    sizes = Counter(cluster_ids(namespace).values())
    rows = list(Cluster.objects.within(namespace))
    for row in rows:
        row.size, row.label = sizes[row.id], labels.get(row.id, row.label)
    current = [row for row in rows if row.size and row.embedder == namespace.embedder]
    Cluster.objects.bulk_update(current, ["size", "label"])
    obsolete = Cluster.objects.within(namespace).exclude(id__in=[row.id for row in current])
    # Inactive memories may still refer to one.
    Memory.objects.within(namespace).filter(cluster_id__in=obsolete.values("id")).update(cluster_id=None)
    obsolete.delete()


def cluster_ids(namespace: Namespace) -> dict[UUID, UUID]:
    """The cluster of each active fact that has one."""
    facts = Memory.objects.within(namespace).filter(status=Status.ACTIVE, level=ChunkLevel.FACT)
    return {memory: cluster for memory, cluster in facts.values_list("id", "cluster_id") if cluster is not None}


def cluster_labels(namespace: Namespace, clusters: Mapping[UUID, UUID]) -> dict[UUID, str]:
    """A label per cluster, given the cluster of each memory: its words with the highest tf-idf, count × ln(N / df)."""
    within: dict[UUID, Counter[str]] = defaultdict(Counter)
    everywhere: Counter[str] = Counter()
    texts = Memory.objects.within(namespace).values_list("id", "content")
    for memory, text in texts.iterator(chunk_size=5_000):
        if memory not in clusters:
            continue
        words = {word for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS}
        within[clusters[memory]].update(words)
        everywhere.update(words)
    return {cluster: label_from_words(words, everywhere, len(clusters)) for cluster, words in within.items()}


def label_from_words(words: Counter[str], everywhere: Counter[str], memories: int) -> str:
    """The words with the highest tf-idf, ties in alphabetical order."""

    def rank(word: str) -> tuple[float, str]:
        return -words[word] * math.log((memories + 1) / everywhere[word]), word

    return ", ".join(sorted(words, key=rank)[:LABEL_WORDS])
