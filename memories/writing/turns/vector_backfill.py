"""Backfill of missing context vectors: the user's next turn and the previous turn."""

from typing import TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from memories.models import MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Route, Status
from memories.writing.bulk_copy import copy_rows
from memories.writing.lock import lock_namespace
from memories.writing.prepare import embed_distinct
from memories.writing.search_index import vector_row
from memories.writing.turns.route_texts import load_route_texts, memories_with_turns

BATCH_SIZE = 200  # memories per transaction

# The memory's level by (memory, missing route).
MissingRoutes: TypeAlias = dict[tuple[UUID, Route], str]


def backfill_vectors(namespace: Namespace, limit: int = BATCH_SIZE) -> int:
    """Store missing context vectors and return how many texts were embedded; 0 if none is missing."""
    while True:
        name = namespace.embedder
        texts = load_route_texts(namespace, missing_routes(namespace, limit))
        if not texts:
            return 0
        embedded = embed_distinct(name, texts.values())
        with transaction.atomic():
            lock_namespace(namespace)
            if namespace.embedder != name:
                continue
            # Some may have been filled or forgotten while these were embedded.
            missing = missing_routes(namespace, limit, {memory for memory, _ in texts})
            rows = [
                vector_row(namespace, *key, embedded.vector(text), missing[key])
                for key, text in texts.items()
                if key in missing
            ]
            copy_rows(MemoryVector, rows)
        return len(texts)


def missing_routes(namespace: Namespace, limit: int, among: set[UUID] | None = None) -> MissingRoutes:
    """The next memories of conversations with a missing route."""
    existing = MemoryVector.objects.within(namespace).filter(memory_id=OuterRef("id"), embedder=namespace.embedder)
    no_context = ~Exists(existing.filter(route=Route.CONTEXT))
    no_next_user = ~Exists(existing.filter(route=Route.NEXT_USER)) & Q(
        level=ChunkLevel.TURN, following_id__isnull=False
    )
    memories = (
        memories_with_turns(namespace)
        .filter(no_context | no_next_user, turn_id__isnull=False, status=Status.ACTIVE)
        .filter(level__in=(ChunkLevel.TURN, ChunkLevel.FACT), **{} if among is None else {"id__in": among})
        .annotate(no_context=no_context, no_next_user=no_next_user)
        .order_by("id")
    )
    return {
        (memory, route): level
        for memory, level, *flags in memories.values_list("id", "level", "no_context", "no_next_user")[:limit]
        for route, flag in zip((Route.CONTEXT, Route.NEXT_USER), flags, strict=True)
        if flag
    }
