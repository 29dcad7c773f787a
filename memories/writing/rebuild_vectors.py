"""Rebuilding vectors for another embedder or after a loss: which are missing, their texts, storing them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memories.models import Memory, MemoryVector, Namespace, ScoreEvent, TokenStates
from memories.models.choices import ChunkLevel, Route, Status
from memories.models.keys import NamespacedQuerySet
from memories.providers.token_matrix import TokenMatrix
from memories.writing.bulk_copy import copy_rows
from memories.writing.turns.embedded_texts import EmbeddedTexts
from memories.writing.turns.route_texts import load_route_texts
from memories.writing.turns.session_vectors import SESSION_ROUTES, mean_route_vectors
from scoring.term import Array

VectorQuerySet: TypeAlias = NamespacedQuerySet[MemoryVector]


@dataclass(frozen=True, eq=False)
class RebuiltVectors:
    """New vectors by memory and route, and the token states of full texts."""

    vectors: Mapping[tuple[UUID, Route], Array]
    states: Mapping[UUID, TokenMatrix | None] = field(default_factory=dict)


def missing_vectors(namespace: Namespace, name: str) -> VectorQuerySet:
    """Vectors of the current embedder without a counterpart by the new one."""
    counterpart = vectors_of_embedder(namespace, name).filter(memory_id=OuterRef("memory_id"), route=OuterRef("route"))
    return vectors_of_embedder(namespace, namespace.embedder).filter(~Exists(counterpart)).defer("vector")


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
    embedded = EmbeddedTexts.embed(name, texts.values())
    vectors = {key: embedded.vector(text) for key, text in texts.items()}
    return RebuiltVectors(
        vectors, {memory: embedded.states(text) for (memory, route), text in texts.items() if route == Route.FULL}
    )


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


def mean_session_vectors(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> RebuiltVectors:
    """Session vectors as means of their exchanges' new vectors."""
    return RebuiltVectors(mean_route_vectors(namespace, [row.memory_id for row in old], name))


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
            tokens = TokenStates(namespace=namespace, memory_id=counterpart.memory_id, embedder=name)
            tokens.packed, tokens.tokens, tokens.scale = matrix.to_bytes(), matrix.tokens, matrix.scale
            states.append(tokens)
    copy_rows(MemoryVector, vectors)
    TokenStates.objects.within(namespace).filter(
        embedder=name, memory_id__in=[one.memory_id for one in states]
    ).delete()
    copy_rows(TokenStates, states)
    return len(vectors)
