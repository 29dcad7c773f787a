"""K-means on the unit sphere: seeded, so that the same vectors give the same clusters."""

import numpy as np
from numpy.typing import NDArray

from memories.maintenance.fact_vectors import Vectors

Labels = NDArray[np.intp]
SEED = 7
ROUNDS = 30
TINY = 1e-12  # so that vectors which are all alike can be drawn too
BLOCK = 4096  # rows compared at once
SAMPLE = 20_000  # vectors among which first centroids are looked for


def grouped(vectors: Vectors, count: int, known: Vectors) -> tuple[Vectors, Labels]:
    """Centroids, those that are known in their places, and the nearest one of each vector."""
    centroids = seeded(vectors, known[:count], count)
    labels = nearest(vectors, centroids)
    for _ in range(ROUNDS):
        centroids = means(vectors, labels, centroids)
        moved = nearest(vectors, centroids)
        if (moved == labels).all():
            break
        labels = moved
    return centroids, labels


def seeded(vectors: Vectors, known: Vectors, count: int) -> Vectors:
    """Known centroids, and vectors drawn one after the other, the likelier the farther from all so far (k-means++)."""
    draw = np.random.default_rng(SEED)
    some = vectors[:: -(-len(vectors) // SAMPLE)]
    chosen = list(known) or [some[draw.integers(len(some))]]
    closest = (some @ np.array(chosen).T).max(axis=1)
    while len(chosen) < count:
        far = np.maximum(1.0 - closest, 0.0).astype(float) + TINY
        chosen.append(some[draw.choice(len(some), p=far / far.sum())])
        closest = np.maximum(closest, some @ chosen[-1])
    return np.array(chosen, np.float32)


def nearest(vectors: Vectors, centroids: Vectors) -> Labels:
    """The place of each vector's nearest centroid."""
    blocks = [vectors[start : start + BLOCK] @ centroids.T for start in range(0, len(vectors), BLOCK)]
    return np.concatenate([np.argmax(block, axis=1) for block in blocks])


def means(vectors: Vectors, labels: Labels, centroids: Vectors) -> Vectors:
    """The middle of each group, of length one; an empty group keeps its centroid."""
    order = np.argsort(labels, kind="stable")
    places, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(vectors[order], starts, axis=0)
    found = centroids.copy()
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    found[places] = sums / np.where(lengths > 0, lengths, 1)
    return found
