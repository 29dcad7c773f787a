"""A session's vectors: the directions that its exchanges have in common."""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

import numpy as np
from django.db.models import Avg, Q
from django.db.models.functions import Coalesce

from memories.models import Memory, MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Route
from scoring.term import Array

# What the user says next and the turn before belong to an exchange alone.
WHOLE = [route for route in Route if route not in (Route.NEXT_USER, Route.CONTEXT)]

# The vector of a memory's route, by (memory, route).
Vectors: TypeAlias = dict[tuple[UUID, Route], Array]


def means(namespace: Namespace, chunks: Sequence[UUID], embedder: str) -> Vectors:
    """The vectors of some sessions' own chunks, by the exchanges that are stored; of hidden ones, where all are."""
    owned = Memory.objects.within(namespace).filter(id__in=chunks, session_id__isnull=False)
    owners = {session: chunk for chunk, session in owned.values_list("id", "session_id")}
    parts = MemoryVector.objects.within(namespace).filter(
        memory__session_id__in=owners, level=ChunkLevel.TURN, embedder=embedder, route__in=WHOLE
    )
    middle = Coalesce(Avg("vector", filter=Q(active=True)), Avg("vector"))
    found = parts.values_list("memory__session_id", "route").annotate(middle=middle)
    return {(owners[session], Route(route)): unit(np.asarray(mean, dtype=float)) for session, route, mean in found}


def unit(vector: Array) -> Array:
    """A vector at length one, where it has a direction at all."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
