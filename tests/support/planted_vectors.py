"""Vectors at a chosen cosine, planted in stored memories."""

from typing import Any

import numpy as np

from memories.models import MemoryVector

Vector = np.ndarray[Any, Any]


def unit_vector(axis: int) -> Vector:
    """One of the axes of the space of the shipped embedder."""
    vector = np.zeros(384)
    vector[axis] = 1.0
    return vector


def vector_at_cosine(to: Vector, cosine: float, aside: Vector) -> Vector:
    """A unit vector at a cosine to another, leaning to one side."""
    to = to / np.linalg.norm(to)
    aside = aside - (aside @ to) * to
    leaning: Vector = cosine * to + (1 - cosine**2) ** 0.5 * aside / np.linalg.norm(aside)
    return leaning


def plant_vector(id: str, vector: Vector) -> None:
    """Let a stored memory have another vector of its text."""
    MemoryVector.objects.filter(memory_id=id, route="vec_full").update(vector=vector.tolist())
