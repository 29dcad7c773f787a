"""Vectors made again, by another embedder or after a loss: which are lacking, what they are made of, where they go."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from memories.models import Memory, MemoryVector, Namespace, ScoreEvent, TokenStates
from memories.models.choices import ChunkLevel, Route, Status
from memories.models.keys import NamespacedQuerySet
from memories.providers.token_matrix import TokenMatrix
from memories.turns.embedded import Embedded
from memories.turns.means import WHOLE, means
from memories.turns.texts import texts_of
from memories.writing.copying import copied
from scoring.term import Array

Vectors: TypeAlias = NamespacedQuerySet[MemoryVector]


@dataclass(frozen=True, eq=False)
class Made:
    """What an embedder made: a vector for each route of a memory, and the tokens' states of whole texts."""

    vectors: Mapping[tuple[UUID, Route], Array]
    states: Mapping[UUID, TokenMatrix | None] = field(default_factory=dict)


def lacking_of(namespace: Namespace, name: str) -> Vectors:
    """The vectors of the present embedder that have no like of the new one."""
    like = vectors_by(namespace, name).filter(memory_id=OuterRef("memory_id"), route=OuterRef("route"))
    return vectors_by(namespace, namespace.embedder).filter(~Exists(like)).defer("vector")


def settled(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> list[MemoryVector]:
    """Those vectors of whole sessions whose exchanges lack nothing; the caller holds the lock."""
    sessions = dict(
        Memory.objects.within(namespace).filter(id__in={row.memory_id for row in old}).values_list("id", "session_id")
    )
    exchanges = Memory.objects.within(namespace).filter(level=ChunkLevel.TURN, session_id__in=set(sessions.values()))
    homes = dict(exchanges.values_list("id", "session_id"))
    # By their ids: a join of what is lacking with itself is planned as if it were tiny, and takes forever.
    lacking = lacking_of(namespace, name).filter(memory_id__in=homes, route__in=WHOLE)
    waiting = {homes[memory] for memory in lacking.values_list("memory_id", flat=True)}
    return [row for row in old if sessions.get(row.memory_id) not in waiting]


def vectors_by(namespace: Namespace, name: str) -> Vectors:
    """The vectors that one embedder made."""
    return MemoryVector.objects.within(namespace).filter(embedder=name)


def pieces(rows: Vectors, size: int) -> Iterator[list[MemoryVector]]:
    """Vectors piece by piece; one that a piece leaves without a like does not come again."""
    rows, later = rows.order_by("memory_id", "route"), Q()
    while piece := list(rows.filter(later)[:size]):
        yield piece
        memory, route = piece[-1].memory_id, piece[-1].route
        later = Q(memory_id__gt=memory) | Q(memory_id=memory, route__gt=route)


def remade(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> Made:
    """What the new embedder makes of the texts behind some vectors."""
    texts = texts_of(namespace, [(row.memory_id, row.route) for row in old])
    embedded = Embedded.of(name, texts.values())
    vectors = {key: embedded.vector(text) for key, text in texts.items()}
    return Made(
        vectors, {memory: embedded.states(text) for (memory, route), text in texts.items() if route == Route.FULL}
    )


def lost(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories that have been findable once and have no vector of the embedder now."""
    active = ScoreEvent.objects.within(namespace).filter(memory_id=OuterRef("id"), after__status=Status.ACTIVE)
    full = vectors_by(namespace, namespace.embedder).filter(memory_id=OuterRef("id"), route=Route.FULL)
    return Memory.objects.within(namespace).filter(Q(status=Status.ACTIVE) | Exists(active), ~Exists(full))


def likes_of(memories: Iterable[Memory]) -> list[MemoryVector]:
    """A vector for every route that memories may have, as visible as they are, yet to be made."""
    return [
        MemoryVector(memory_id=memory.id, route=route, level=memory.level, active=memory.status == Status.ACTIVE)
        for memory in memories
        for route in Route
    ]


def middles(namespace: Namespace, name: str, old: Sequence[MemoryVector]) -> Made:
    """The vectors of whole sessions, by what the new embedder has made of their exchanges."""
    return Made(means(namespace, [row.memory_id for row in old], name))


def store(namespace: Namespace, name: str, old: Sequence[MemoryVector], made: Made) -> int:
    """Write what is still wanted, as visible as its like is now; the caller holds the lock."""
    # A chunk that changed meanwhile has other vectors than those that were read: it is left for the next pass.
    return put(namespace, name, lacking_of(namespace, name).filter(id__in=[row.id for row in old]), made)


def put(namespace: Namespace, name: str, likes: Iterable[MemoryVector], made: Made) -> int:
    """Write what was made of the likes of some vectors; the caller holds the lock."""
    vectors, states = [], []
    for like in likes:
        key = (like.memory_id, Route(like.route))
        if key not in made.vectors:
            continue
        row = MemoryVector(namespace=namespace, memory_id=like.memory_id, route=like.route, embedder=name)
        row.vector, row.level, row.active = made.vectors[key], like.level, like.active
        row.indexed, row.written = like.indexed, namespace.writing
        vectors.append(row)
        whole = like.route == Route.FULL and like.level != ChunkLevel.SESSION
        if whole and (matrix := made.states.get(like.memory_id)) is not None:
            tokens = TokenStates(namespace=namespace, memory_id=like.memory_id, embedder=name)
            tokens.packed, tokens.tokens, tokens.scale = matrix.packed, matrix.tokens, matrix.scale
            states.append(tokens)
    copied(MemoryVector, vectors)
    TokenStates.objects.within(namespace).filter(
        embedder=name, memory_id__in=[one.memory_id for one in states]
    ).delete()
    copied(TokenStates, states)
    return len(vectors)
