"""Session vectors: the normalised means of their exchanges' vectors."""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

import numpy as np
from django.db.models import Avg, Q
from django.db.models.functions import Coalesce

from memories.models import Memory, MemoryVector, Namespace
from memories.models.choices import ChunkLevel, Route
from scoring.term import Array

# The user's next turn and the previous turn exist only per exchange.
SESSION_ROUTES = [route for route in Route if route not in (Route.NEXT_USER, Route.CONTEXT)]

# Vectors by (memory, route).
RouteVectors: TypeAlias = dict[tuple[UUID, Route], Array]


def mean_route_vectors(namespace: Namespace, chunks: Sequence[UUID], embedder: str) -> RouteVectors:
    """Mean vectors of session chunks over their active exchanges, or over hidden ones if none is active."""
    owned = Memory.objects.within(namespace).filter(id__in=chunks, session_id__isnull=False)
    owners = {session: chunk for chunk, session in owned.values_list("id", "session_id")}
    vectors = MemoryVector.objects.within(namespace).filter(
        memory__session_id__in=owners, level=ChunkLevel.TURN, embedder=embedder, route__in=SESSION_ROUTES
    )
    mean_vector = Coalesce(Avg("vector", filter=Q(active=True)), Avg("vector"))
    rows = vectors.values_list("memory__session_id", "route").annotate(mean=mean_vector)
    return {
        (owners[session], Route(route)): unit_vector(np.asarray(mean, dtype=float)) for session, route, mean in rows
    }


def unit_vector(vector: Array) -> Array:
    """A vector scaled to unit length; zero vectors are unchanged."""
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
