"""Spherical k-means with a fixed seed: the same vectors give the same clusters."""

import numpy as np
from numpy.typing import NDArray

from memories.maintenance.fact_vectors import Vectors

Labels = NDArray[np.intp]
SEED = 7
MAX_ROUNDS = 30
TINY = 1e-12  # keeps probabilities positive where all vectors are equal
BLOCK_SIZE = 4096  # rows compared at once
SEEDING_SAMPLE = 20_000  # vectors from which first centroids are drawn


def cluster_vectors(vectors: Vectors, count: int, known: Vectors) -> tuple[Vectors, Labels]:
    """Centroids, starting with the known ones, and the index of each vector's nearest centroid."""
    centroids = initial_centroids(vectors, known[:count], count)
    labels = nearest_centroids(vectors, centroids)
    for _ in range(MAX_ROUNDS):
        centroids = mean_directions(vectors, labels, centroids)
        reassigned = nearest_centroids(vectors, centroids)
        if (reassigned == labels).all():
            break
        labels = reassigned
    return centroids, labels


def initial_centroids(vectors: Vectors, known: Vectors, count: int) -> Vectors:
    """The known centroids, filled up by k-means++: each drawn in proportion to its distance from those before it."""
    rng = np.random.default_rng(SEED)
    sample = vectors[:: -(-len(vectors) // SEEDING_SAMPLE)]
    chosen = list(known) or [sample[rng.integers(len(sample))]]
    closest = (sample @ np.array(chosen).T).max(axis=1)
    while len(chosen) < count:
        distance = np.maximum(1.0 - closest, 0.0).astype(float) + TINY
        chosen.append(sample[rng.choice(len(sample), p=distance / distance.sum())])
        closest = np.maximum(closest, sample @ chosen[-1])
    return np.array(chosen, np.float32)


def nearest_centroids(vectors: Vectors, centroids: Vectors) -> Labels:
    """The index of each vector's nearest centroid."""
    blocks = [vectors[start : start + BLOCK_SIZE] @ centroids.T for start in range(0, len(vectors), BLOCK_SIZE)]
    return np.concatenate([np.argmax(block, axis=1) for block in blocks])


def mean_directions(vectors: Vectors, labels: Labels, centroids: Vectors) -> Vectors:
    """The normalised mean of each cluster; an empty cluster keeps its centroid."""
    order = np.argsort(labels, kind="stable")
    clusters, starts = np.unique(labels[order], return_index=True)
    sums = np.add.reduceat(vectors[order], starts, axis=0)
    means = centroids.copy()
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    means[clusters] = sums / np.where(lengths > 0, lengths, 1)
    return means
