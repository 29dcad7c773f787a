"""Radial tree layout: the shortest-path tree of one entity, each child within its parent's angle."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array

IndexArray: TypeAlias = NDArray[np.int64]
NeighbourLists: TypeAlias = Sequence[Sequence[int]]


class RadialTree(NamedTuple):
    """Depth and angle of each node."""

    depth: Array
    angle: Array


def neighbour_lists(count: int, ends: IndexArray) -> list[list[int]]:
    """The neighbours of each node."""
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for source, target in ends.tolist():
        neighbours[source].append(target)
        neighbours[target].append(source)
    return neighbours


def radial_tree(neighbours: NeighbourLists, root: int) -> RadialTree:
    """Divide each angle among the children by their number of leaves; unconnected nodes hang on the root."""
    count = len(neighbours)
    parent, depth, order = [-1] * count, [-1] * count, [root]
    depth[root] = 0
    for node in order:
        for neighbour in neighbours[node]:
            if depth[neighbour] < 0:
                depth[neighbour], parent[neighbour] = depth[node] + 1, node
                order.append(neighbour)
    for node in range(count):
        if depth[node] < 0:
            depth[node], parent[node] = 1, root
            order.append(node)
    leaves = [0] * count
    for node in reversed(order):
        leaves[node] = leaves[node] or 1
        if parent[node] >= 0:
            leaves[parent[node]] += leaves[node]
    start, angle = [0.0] * count, [0.0] * count
    leaf_angle = 2 * np.pi / leaves[root]
    for node in order[1:]:
        above = parent[node]
        angle[node] = start[above] + leaf_angle * leaves[node] / 2
        start[node], start[above] = start[above], start[above] + leaf_angle * leaves[node]
    return RadialTree(np.array(depth, float), np.array(angle))


def polar_to_xy(angle: Array, distance: Array) -> Array:
    """Cartesian coordinates."""
    return np.column_stack([np.cos(angle), np.sin(angle)]) * distance[:, None]


def radial_positions(neighbours: NeighbourLists) -> Array:
    """The radial tree of the best connected node, its rings one apart."""
    root = max(range(len(neighbours)), key=lambda node: (len(neighbours[node]), -node))
    depth, angle = radial_tree(neighbours, root)
    return polar_to_xy(angle, depth)
