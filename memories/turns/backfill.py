"""What was said around memories, for those that do not know it: what the user said next, and the turn before."""

from typing import TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from memories.models import MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Route, Status
from memories.turns.chunks import vector_row
from memories.turns.embedded import Embedded
from memories.turns.texts import placed, texts_of
from memories.writing.copying import copied
from memories.writing.remember import lock

PIECE = 200  # memories in one transaction

# The level of a memory that lacks a route, by (memory, route).
Lacking: TypeAlias = dict[tuple[UUID, Route], str]


def backfill(namespace: Namespace, most: int = PIECE) -> int:
    """Give some memories the vectors of what was said around them, and tell how many; none where all have them."""
    while True:
        name = namespace.embedder
        texts = texts_of(namespace, lacking(namespace, most))
        if not texts:
            return 0
        embedded = Embedded.of(name, texts.values())
        with transaction.atomic():
            lock(namespace)
            if namespace.embedder != name:
                continue
            # Others may have filled some, or forgotten them, while these were embedded.
            left = lacking(namespace, most, {memory for memory, _ in texts})
            rows = [
                vector_row(namespace, *key, embedded.vector(text), left[key])
                for key, text in texts.items()
                if key in left
            ]
            copied(MemoryVector, rows)
        return len(texts)


def lacking(namespace: Namespace, most: int, among: set[UUID] | None = None) -> Lacking:
    """The next memories out of conversations that lack a vector, and which."""
    known = MemoryVector.objects.within(namespace).filter(memory_id=OuterRef("id"), embedder=namespace.embedder)
    alone = ~Exists(known.filter(route=Route.CONTEXT))
    unfollowed = ~Exists(known.filter(route=Route.NEXT_USER)) & Q(level=ChunkLevel.TURN, following_id__isnull=False)
    found = (
        placed(namespace)
        .filter(alone | unfollowed, turn_id__isnull=False, status=Status.ACTIVE)
        .filter(level__in=(ChunkLevel.TURN, ChunkLevel.FACT), **{} if among is None else {"id__in": among})
        .annotate(alone=alone, unfollowed=unfollowed)
        .order_by("id")
    )
    return {
        (memory, route): level
        for memory, level, *lacks in found.values_list("id", "level", "alone", "unfollowed")[:most]
        for route, lack in zip((Route.CONTEXT, Route.NEXT_USER), lacks, strict=True)
        if lack
    }
