"""Another embedder for a namespace, without a gap: embed beside the old vectors, switch, clear the old ones away.

An embedder that does not ship has no index of its own: its vectors are scanned, exactly and one by one.
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
from memories.providers.embedder import ALLOWED, EmbedderError, embedder, known
from memories.writing.remaking import Made, lacking_of, middles, pieces, remade, settled, store, vectors_by
from memories.writing.remember import lock

PIECE = 200  # rows in one transaction
# Each embeds what was written during the one before; the rest, written during the last, is left for the switch.
PASSES = 3
GRACE = timedelta(seconds=15)  # longer than an answer takes that was begun before the switch


def flaw(name: str) -> str:
    """Why an embedder cannot be used here, or nothing; it is loaded and tried."""
    if not known(name):
        return f"must be one of {ALLOWED}; got {name!r}"
    try:
        embedder(name).embed(["a first word"])
    except (EmbedderError, ValueError, OSError) as error:
        return f"must be an embedder that works here; {name} does not: {error}"
    return ""


def embed(work: Work) -> None:
    """Give every text a vector of the new embedder; nothing asks for these yet."""
    name, namespace = str(work.job.params["embedder"]), work.namespace
    total = vectors_by(namespace, namespace.embedder).count()

    def keep(old: Sequence[MemoryVector], made: Made) -> None:
        stored = store(namespace, name, old, made)
        work.moved(work.facts.get("embedded", 0) + stored, total, embedded=stored)

    for _ in range(PASSES):
        lacking = lacking_of(namespace, name).filter(memory_id__lt=uuid7())
        for piece in pieces(lacking.exclude(level=ChunkLevel.SESSION), PIECE):
            made = remade(namespace, name, piece)
            with transaction.atomic():
                lock(namespace)
                keep(piece, made)
        for piece in pieces(lacking.filter(level=ChunkLevel.SESSION), PIECE):
            with transaction.atomic():
                lock(namespace)
                # A session follows from its exchanges, and waits for one that changed while it was embedded.
                ready = settled(namespace, name, piece)
                keep(ready, middles(namespace, name, ready))


def switch(work: Work) -> None:
    """Embed what was written meanwhile and let the new embedder serve, in one transaction."""
    name, namespace, stored = str(work.job.params["embedder"]), work.namespace, 0
    with transaction.atomic():
        lock(namespace)
        lacking = lacking_of(namespace, name)
        spoken, whole = lacking.exclude(level=ChunkLevel.SESSION), lacking.filter(level=ChunkLevel.SESSION)
        # A session that outlives its exchanges is embedded as the one text it is.
        steps = ((remade, spoken), (middles, whole), (remade, whole))
        for make, rows in steps:
            for piece in pieces(rows, PIECE):
                stored += store(namespace, name, piece, make(namespace, name, piece))
        lost = lacking.count()
        Namespace.objects.filter(id=namespace.id).update(embedder=name)
        NamespaceStatistics.objects.filter(namespace=namespace).update(epoch=F("epoch") + 1)
        work.moved(1, 1, embedded=stored, without_text=lost)
    namespace.embedder = name


def clear(work: Work) -> None:
    """Delete what the former embedders left: vectors, token states, clusters, which the next reflection makes anew."""
    since = timezone.now()
    while work.facts.get("cleared") is None and timezone.now() < since + GRACE:
        time.sleep(0.5)
        work.moved(0)
    name, namespace = work.namespace.embedder, work.namespace
    for table in (MemoryVector, TokenStates):
        rows: NamespacedQuerySet[Any] = table.objects.within(namespace)
        discard(work, rows.exclude(embedder=name))
    clusters = Cluster.objects.within(namespace).exclude(embedder=name)
    members = Memory.objects.within(namespace).filter(cluster_id__in=clusters.values("id"))
    while ids := list(members.values_list("id", flat=True)[:PIECE]):
        with transaction.atomic():
            lock(namespace)
            Memory.objects.within(namespace).filter(id__in=ids).update(cluster_id=None)
            work.moved(work.job.done + len(ids))
    discard(work, clusters)


def discard(work: Work, rows: NamespacedQuerySet[Any]) -> None:
    """Delete rows piece by piece."""
    while ids := list(rows.values_list("id", flat=True)[:PIECE]):
        with transaction.atomic():
            lock(work.namespace)
            rows.filter(id__in=ids).delete()
            work.moved(work.job.done + len(ids), cleared=len(ids))


STEPS: dict[str, Step] = {"embed": embed, "switch": switch, "clear": clear}
