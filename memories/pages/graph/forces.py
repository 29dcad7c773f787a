"""Places that edges pull together while all push each other apart (Fruchterman and Reingold)."""

import numpy as np

from memories.pages.graph.fans import Numbers
from scoring.term import Array

PAIRS = 5_000_000  # pairs of entities that a picture may weigh
ROUNDS = (24, 80)  # at least and at most
PUSHING = 100  # entities that push all others in one round
NEAREST = np.float32(0.05)  # squared, in lengths of an edge: nearer ones push no more than that
FAR = 95  # percent of all lie nearer
INWARD = np.float32(0.4)  # or else what hangs loosely drifts away


def settled(places: Array, ends: Numbers) -> Array:
    """Pull and push from given places on, ever more gently; the same graph always comes out the same."""
    count = len(places)
    here = (places * np.sqrt(count) / (2 * np.abs(places).max())).astype(np.float32)
    turns = np.random.default_rng(count).permutation(count)
    rounds = int(np.clip(PAIRS / (count * min(count, PUSHING)), *ROUNDS))
    for number, step in enumerate(np.geomspace(0.2 * np.sqrt(count), 0.04, rounds)):
        # In a large graph a part of all pushes in each round, and stands for the others.
        turn = turns.take(np.arange(min(count, PUSHING)) + number * PUSHING, mode="wrap")
        force = np.asarray(pushed(here, here[turn]) + drawn(here, ends) - INWARD * here)
        size = np.sqrt((force**2).sum(axis=1))
        here += force * (np.minimum(size, step) / np.maximum(size, 1e-6)).astype(np.float32)[:, None]
    return within(here.astype(float))


def within(places: Array) -> Array:
    """Bring in what lies far out, so that a few loose ends do not make all the rest small."""
    centred = places - np.median(places, axis=0)
    out = np.sqrt((centred**2).sum(axis=1))
    far = np.percentile(out, FAR)
    nearer = np.where(out > far, far + (out - far) * 0.2, out)
    return np.asarray(centred * (nearer / np.maximum(out, 1e-9))[:, None])


def pushed(places: Array, pushing: Array) -> Array:
    """What some do to all: the nearer, the more."""
    apart = (places**2).sum(axis=1)[:, None] + (pushing**2).sum(axis=1) - 2 * (places @ pushing.T)
    push = len(places) / len(pushing) / np.maximum(apart, NEAREST)
    return np.asarray(places * push.sum(axis=1)[:, None] - push @ pushing)


def drawn(places: Array, ends: Numbers) -> Array:
    """What edges do to their ends: the longer, the more."""
    source, target = ends.T
    along = places[target] - places[source]
    pull = along * np.sqrt((along**2).sum(axis=1))[:, None]
    sums = [np.bincount(source, axis, len(places)) - np.bincount(target, axis, len(places)) for axis in pull.T]
    return np.column_stack(sums).astype(np.float32)
