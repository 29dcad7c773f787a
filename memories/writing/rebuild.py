"""Rebuilding vectors: switch the embedder without downtime, restore lost vectors, fill the HNSW index."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from memories.contracts.work import Step, Work
from memories.db.ids import uuid7
from memories.models import Cluster, Memory, MemoryVector, Namespace, NamespaceStatistics, ScoreEvent, TokenStates
from memories.models.choices import ChunkLevel, Route, Status
from memories.models.keys import NamespacedQuerySet
from memories.models.vector import SCAN_BELOW
from memories.providers.embedder import ALLOWED, EmbedderError, embedder, is_known_embedder
from memories.providers.token_matrix import TokenMatrix
from memories.writing.bulk_copy import copy_rows
from memories.writing.lock import lock_namespace
from memories.writing.posting_blocks import lacks_blocks, pack_postings
from memories.writing.prepare import embed_distinct
from memories.writing.search_index import token_states_row
from memories.writing.turns.chunks import SESSION_ROUTES, mean_route_vectors
from memories.writing.turns.route_texts import load_route_texts
from memories.writing.vector_index import MAX_DIMENSIONS, build_index
from scoring.term import Array

BATCH_SIZE = 200  # rows per transaction
# Each pass embeds what was written during the previous one; the switch handles the rest.
PASSES = 3
GRACE_PERIOD = timedelta(seconds=15)  # longer than any query that started before the switch
MIN_UNINDEXED = 500  # vectors outside the index, and memories whose postings may be unpacked

VectorQuerySet: TypeAlias = NamespacedQuerySet[MemoryVector]


@dataclass(frozen=True, eq=False)
class RebuiltVectors:
    """New vectors by memory and route, and the token states of full texts."""

    vectors: Mapping[tuple[UUID, Route], Array]
    states: Mapping[UUID, TokenMatrix | None] = field(default_factory=dict)


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
        NamespaceStatistics.objects.filter(namespace=namespace).update(
            epoch=F("epoch") + 1, ef_search=0, vector_index=work.job.result.get("index", {}).get("name", "")
        )
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
    """Delete rows in small transactions."""
    while ids := list(rows.values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            lock_namespace(work.namespace)
            rows.filter(id__in=ids).delete()
            work.record_progress(work.job.done + len(ids), cleared=len(ids))


def index_new_vectors(work: Work) -> None:
    """Index vectors in small transactions and build the namespace's index if it has none; no request waits for it.

    Until there is an index the vectors are only marked, so that it is built in one go.
    """
    total, done = unindexed_vectors(work.namespace).count(), 0
    while ids := list(unindexed_vectors(work.namespace).order_by("id").values_list("id", flat=True)[:BATCH_SIZE]):
        with transaction.atomic():
            done += MemoryVector.objects.within(work.namespace).filter(id__in=ids).update(indexed=True)
            work.record_progress(done, max(total, done), indexed=len(ids))
    name = build_index(work.namespace, work.namespace.embedder)
    with transaction.atomic():
        NamespaceStatistics.objects.filter(namespace=work.namespace).update(vector_index=name)
        work.record_progress(done, max(total, done))


def index_new_embedder(work: Work) -> None:
    """Build the index of the new embedder's vectors before the switch, if the namespace is large."""
    statistics = NamespaceStatistics.objects.get(namespace=work.namespace)
    large = statistics.documents >= SCAN_BELOW
    work.step_result["name"] = build_index(work.namespace, str(work.job.params["embedder"])) if large else ""
    work.record_progress(1, 1)


def namespaces_to_index() -> list[Namespace]:
    """Namespaces too large to scan, without an index, with enough vectors outside it, or with nothing packed."""
    large = NamespaceStatistics.objects.filter(documents__gte=SCAN_BELOW)
    return [
        statistics.namespace
        for statistics in large.select_related("namespace").order_by("namespace_id")
        if lacks_index(statistics)
        or unindexed_vectors(statistics.namespace)[MIN_UNINDEXED:].exists()
        or lacks_blocks(statistics.namespace)
    ]


def lacks_index(statistics: NamespaceStatistics) -> bool:
    """Whether a namespace has no index, though its vectors can have one."""
    if statistics.vector_index:
        return False
    first = vectors_of_embedder(statistics.namespace, statistics.namespace.embedder).first()
    return first is not None and len(first.vector) <= MAX_DIMENSIONS


def unindexed_vectors(namespace: Namespace) -> NamespacedQuerySet[MemoryVector]:
    """Vectors of the namespace's embedder that are not in the index yet."""
    return MemoryVector.objects.within(namespace).filter(embedder=namespace.embedder, indexed=False)


def embedder_error(name: str) -> str:
    """Why an embedder cannot be used, or an empty string; loads it and embeds a test text."""
    if not is_known_embedder(name):
        return f"must be one of {ALLOWED}; got {name!r}"
    try:
        embedder(name).embed(["a first word"])
    except (EmbedderError, ValueError, OSError) as error:
        return f"must be an embedder that works here; {name} does not: {error}"
    return ""


def missing_vectors(namespace: Namespace, name: str) -> VectorQuerySet:
    """Vectors of the current embedder without a counterpart by the new one."""
    counterpart = vectors_of_embedder(namespace, name).filter(memory_id=OuterRef("memory_id"), route=OuterRef("route"))
    return vectors_of_embedder(namespace, namespace.embedder).filter(~Exists(counterpart)).defer("vector")


def vectors_of_embedder(namespace: Namespace, name: str) -> VectorQuerySet:
    """The vectors of one embedder."""
    return MemoryVector.objects.within(namespace).filter(embedder=name)


def vector_batches(rows: VectorQuerySet, size: int) -> Iterator[list[MemoryVector]]:
    """Iterate over vectors in batches by keyset; a vector left without a counterpart is not visited again."""
    rows, after = rows.order_by("memory_id", "route"), Q()
    while batch := list(rows.filter(after)[:size]):
        yield batch
        memory, route = batch[-1].memory_id, batch[-1].route
        after = Q(memory_id__gt=memory) | Q(memory_id=memory, route__gt=route)


def reembed_vectors(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> RebuiltVectors:
    """Embed the texts behind some vectors with the new embedder."""
    texts = load_route_texts(namespace, [(row.memory_id, row.route) for row in old])
    embedded = embed_distinct(name, texts.values())
    vectors = {key: embedded.vector(text) for key, text in texts.items()}
    return RebuiltVectors(
        vectors, {memory: embedded.states(text) for (memory, route), text in texts.items() if route == Route.FULL}
    )


def mean_session_vectors(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> RebuiltVectors:
    """Session vectors as means of their exchanges' new vectors."""
    return RebuiltVectors(mean_route_vectors(namespace, [row.memory_id for row in old], name))


def complete_sessions(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> list[MemoryVector]:
    """The session vectors whose exchanges are all embedded; the caller holds the lock."""
    sessions = dict(
        Memory.objects.within(namespace).filter(id__in={row.memory_id for row in old}).values_list("id", "session_id")
    )
    exchanges = Memory.objects.within(namespace).filter(level=ChunkLevel.TURN, session_id__in=set(sessions.values()))
    session_of = dict(exchanges.values_list("id", "session_id"))
    # By ids: the planner underestimates a self-join of the missing vectors, and it never finishes.
    missing = missing_vectors(namespace, name).filter(memory_id__in=session_of, route__in=SESSION_ROUTES)
    incomplete = {session_of[memory] for memory in missing.values_list("memory_id", flat=True)}
    return [row for row in old if sessions.get(row.memory_id) not in incomplete]


def store_missing_vectors(namespace: Namespace, name: str, old: Sequence[MemoryVector], rebuilt: RebuiltVectors) -> int:
    """Store the vectors still missing, with the visibility of their counterparts; the caller holds the lock."""
    # The vectors of a chunk that changed meanwhile have new ids: they are left for the next pass.
    return insert_vectors(
        namespace, name, missing_vectors(namespace, name).filter(id__in=[row.id for row in old]), rebuilt
    )


def insert_vectors(
    namespace: Namespace, name: str, counterparts: Iterable[MemoryVector], rebuilt: RebuiltVectors
) -> int:
    """Store new vectors for the given counterparts; the caller holds the lock."""
    vectors, states = [], []
    for counterpart in counterparts:
        key = (counterpart.memory_id, Route(counterpart.route))
        if key not in rebuilt.vectors:
            continue
        row = MemoryVector(namespace=namespace, memory_id=counterpart.memory_id, route=counterpart.route, embedder=name)
        row.vector, row.level, row.active = rebuilt.vectors[key], counterpart.level, counterpart.active
        row.indexed, row.written = counterpart.indexed, namespace.writing
        vectors.append(row)
        has_states = counterpart.route == Route.FULL and counterpart.level != ChunkLevel.SESSION
        if has_states and (matrix := rebuilt.states.get(counterpart.memory_id)) is not None:
            states.append(token_states_row(namespace, counterpart.memory_id, name, matrix))
    copy_rows(MemoryVector, vectors)
    TokenStates.objects.within(namespace).filter(
        embedder=name, memory_id__in=[row.memory_id for row in states]
    ).delete()
    copy_rows(TokenStates, states)
    return len(vectors)


def memories_without_vector(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """Memories that were searchable once and have no vector of the current embedder."""
    activated = ScoreEvent.objects.within(namespace).filter(memory_id=OuterRef("id"), after__status=Status.ACTIVE)
    with_vector = vectors_of_embedder(namespace, namespace.embedder).filter(memory_id=OuterRef("id"), route=Route.FULL)
    return Memory.objects.within(namespace).filter(Q(status=Status.ACTIVE) | Exists(activated), ~Exists(with_vector))


def expected_vectors(memories: Iterable[Memory]) -> list[MemoryVector]:
    """Unsaved vectors for every route a memory may have, as visible as the memory."""
    return [
        MemoryVector(memory_id=memory.id, route=route, level=memory.level, active=memory.status == Status.ACTIVE)
        for memory in memories
        for route in Route
    ]


REEMBED_STEPS: dict[str, Step] = {
    "embed": embed_missing_vectors,
    "index": index_new_embedder,
    "switch": switch_embedder,
    "clear": delete_old_vectors,
}
INDEX_STEPS: dict[str, Step] = {"index": index_new_vectors, "pack": pack_postings}
