"""What a picture of the graph shows: entities with their places, edges, and the path that was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
from django.core.cache import cache

from memories.pages.graph.edges import Edge, degrees
from memories.pages.graph.fans import Numbers, joined
from memories.pages.graph.layout import pulled, rings
from memories.pages.graph.naming import Called
from memories.pages.graph.walks import Path, Walk
from scoring.term import Array

KEPT = 3600  # seconds for which places are remembered
LARGEST = 13.0  # of a dot
CROWD = 150  # entities from which on dots are drawn smaller


@dataclass(frozen=True)
class Picture:
    """Entities in the order of their importance, where they lie, and what joins them."""

    ids: Sequence[str]
    names: Mapping[str, Called]
    edges: Sequence[Edge]
    places: Array
    walk: Walk | None = None
    path: Path | None = None
    radii: Mapping[int, tuple[float, float]] = field(default_factory=dict)  # of the rings

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Each entity's place in the order."""
        return {id: number for number, id in enumerate(self.ids)}

    @cached_property
    def joined(self) -> Mapping[str, int]:
        """How many edges each has in the picture."""
        return degrees(self.edges)

    @cached_property
    def sizes(self) -> Array:
        """How large each dot is: its area goes by the edges that it has."""
        many = np.array([self.joined.get(id, 0) for id in self.ids])
        smaller = np.clip(np.sqrt(CROWD / max(len(many), 1)), 0.55, 1.0)
        return np.asarray(smaller * np.minimum(2.2 + 1.3 * np.sqrt(many), LARGEST))


def whole(edges: Sequence[Edge], names: Mapping[str, Called]) -> Picture:
    """The graph as its edges pull it, the best connected first."""
    joined_by = degrees(edges)
    ids = sorted(joined_by, key=lambda id: (-joined_by[id], id))
    numbers = {id: number for number, id in enumerate(ids)}
    ends = ends_of(edges, numbers)
    key = f"graph.{sha256(ends.tobytes()).hexdigest()}"
    places = cache.get_or_set(key, lambda: pulled(len(ids), ends), KEPT)
    return Picture(ids, names, edges, np.asarray(places))


def walked(walk: Walk, edges: Sequence[Edge], names: Mapping[str, Called], path: Path | None) -> Picture:
    """What is reached from an entity, in rings by hops; what was asked for first, then the best reached."""
    seen = degrees(edges)
    asked_for = [step.to for step in path.steps] if path else []
    ids = list(dict.fromkeys([walk.root, *asked_for, *(id for id in walk.reached if id in seen)]))
    # Directions go by ids, so that nothing moves about while scores do.
    fixed = sorted(ids, key=lambda id: (id != walk.root, id))
    order = {id: number for number, id in enumerate(fixed)}
    beside = joined(len(ids), ends_of(sorted(edges), order))
    laid = rings(beside, 0, np.array([walk.hops(id) for id in fixed], float))
    return Picture(ids, names, edges, laid.places[[order[id] for id in ids]], walk, path, laid.radii)


def ends_of(edges: Sequence[Edge], numbers: Mapping[str, int]) -> Numbers:
    """The two ends of each edge, as numbers."""
    return np.array([(numbers[one.source], numbers[one.target]) for one in edges], int).reshape(-1, 2)
