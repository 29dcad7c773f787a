"""A graph opened like a fan from one of its entities: each child within its parent's angle."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.term import Array

Numbers: TypeAlias = NDArray[np.int64]
Joined: TypeAlias = Sequence[Sequence[int]]  # whom each is joined to


class Fan(NamedTuple):
    """A tree of shortest ways from one entity, opened like a fan: how deep each lies, and in which direction."""

    depth: Array
    angle: Array


def joined(count: int, ends: Numbers) -> list[list[int]]:
    """Whom each is joined to."""
    beside: list[list[int]] = [[] for _ in range(count)]
    for one, other in ends.tolist():
        beside[one].append(other)
        beside[other].append(one)
    return beside


def fan(beside: Joined, root: int) -> Fan:
    """Share each angle among the children by the leaves that hang on them; who is not joined hangs on the root."""
    count = len(beside)
    parent, depth, order = [-1] * count, [-1] * count, [root]
    depth[root] = 0
    for one in order:
        for other in beside[one]:
            if depth[other] < 0:
                depth[other], parent[other] = depth[one] + 1, one
                order.append(other)
    for lost in range(count):
        if depth[lost] < 0:
            depth[lost], parent[lost] = 1, root
            order.append(lost)
    leaves = [0] * count
    for one in reversed(order):
        leaves[one] = leaves[one] or 1
        if parent[one] >= 0:
            leaves[parent[one]] += leaves[one]
    start, angle = [0.0] * count, [0.0] * count
    share = 2 * np.pi / leaves[root]
    for one in order[1:]:
        above = parent[one]
        angle[one] = start[above] + share * leaves[one] / 2
        start[one], start[above] = start[above], start[above] + share * leaves[one]
    return Fan(np.array(depth, float), np.array(angle))


def outward(angle: Array, distance: Array) -> Array:
    """Places in a direction, so far from the origin."""
    return np.column_stack([np.cos(angle), np.sin(angle)]) * distance[:, None]


def opened(beside: Joined) -> Array:
    """The fan of the best connected, its rings one apart."""
    root = max(range(len(beside)), key=lambda one: (len(beside[one]), -one))
    depth, angle = fan(beside, root)
    return outward(angle, depth)
