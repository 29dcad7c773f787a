"""Force-directed layout (Fruchterman and Reingold): edges attract their ends, all nodes repel each other."""

import numpy as np

from memories.pages.graph.radial_tree import IndexArray
from scoring.term import Array

MAX_PAIRS = 5_000_000  # pairs of nodes computed in all
ITERATIONS = (24, 80)  # minimum and maximum
MAX_REPELLING = 100  # nodes that repel all others in one iteration
MIN_SQUARED_DISTANCE = np.float32(0.05)  # in edge lengths: caps the repulsion of close nodes
OUTLIER_PERCENTILE = 95
GRAVITY = np.float32(0.4)  # keeps loosely connected nodes from drifting away


def force_layout(positions: Array, ends: IndexArray) -> Array:
    """Move nodes by their forces in ever smaller steps; deterministic."""
    count = len(positions)
    current = (positions * np.sqrt(count) / (2 * np.abs(positions).max())).astype(np.float32)
    shuffled = np.random.default_rng(count).permutation(count)
    iterations = int(np.clip(MAX_PAIRS / (count * min(count, MAX_REPELLING)), *ITERATIONS))
    for iteration, max_step in enumerate(np.geomspace(0.2 * np.sqrt(count), 0.04, iterations)):
        # In a large graph a sample of the nodes repels in each iteration, scaled up to all.
        sample = shuffled.take(np.arange(min(count, MAX_REPELLING)) + iteration * MAX_REPELLING, mode="wrap")
        force = np.asarray(repulsion(current, current[sample]) + attraction(current, ends) - GRAVITY * current)
        size = np.sqrt((force**2).sum(axis=1))
        current += force * (np.minimum(size, max_step) / np.maximum(size, 1e-6)).astype(np.float32)[:, None]
    return pull_in_outliers(current.astype(float))


def pull_in_outliers(positions: Array) -> Array:
    """Move outliers inwards, so that a few loose ends do not shrink the rest."""
    centred = positions - np.median(positions, axis=0)
    distance = np.sqrt((centred**2).sum(axis=1))
    limit = np.percentile(distance, OUTLIER_PERCENTILE)
    reduced = np.where(distance > limit, limit + (distance - limit) * 0.2, distance)
    return np.asarray(centred * (reduced / np.maximum(distance, 1e-9))[:, None])


def repulsion(positions: Array, repelling: Array) -> Array:
    """The force of some nodes on all: the closer, the stronger."""
    squared = (positions**2).sum(axis=1)[:, None] + (repelling**2).sum(axis=1) - 2 * (positions @ repelling.T)
    push = len(positions) / len(repelling) / np.maximum(squared, MIN_SQUARED_DISTANCE)
    return np.asarray(positions * push.sum(axis=1)[:, None] - push @ repelling)


def attraction(positions: Array, ends: IndexArray) -> Array:
    """The force of edges on their ends: the longer, the stronger."""
    source, target = ends.T
    along = positions[target] - positions[source]
    pull = along * np.sqrt((along**2).sum(axis=1))[:, None]
    count = len(positions)
    sums = [np.bincount(source, axis, count) - np.bincount(target, axis, count) for axis in pull.T]
    return np.column_stack(sums).astype(np.float32)
