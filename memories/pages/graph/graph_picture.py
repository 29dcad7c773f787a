"""What is drawn of the graph: entities with their positions, edges, and the chosen path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np
from django.core.cache import cache

from memories.pages.graph.edge_list import GraphEdge, edge_degrees
from memories.pages.graph.entity_lookup import EntityLabel
from memories.pages.graph.graph_layout import ring_layout, whole_graph_positions
from memories.pages.graph.radial_tree import IndexArray, neighbour_lists
from memories.pages.graph.walks import GraphPath, GraphWalk
from scoring.term import Array

POSITIONS_TTL_S = 3600
MAX_DOT_RADIUS = 13.0
CROWDED = 150  # entities beyond which dots shrink


@dataclass(frozen=True)
class GraphPicture:
    """Entities in order of importance, their positions, and the edges between them."""

    ids: Sequence[str]
    labels: Mapping[str, EntityLabel]
    edges: Sequence[GraphEdge]
    positions: Array
    walk: GraphWalk | None = None
    path: GraphPath | None = None
    radii: Mapping[int, tuple[float, float]] = field(default_factory=dict)  # of the rings

    @cached_property
    def indices(self) -> Mapping[str, int]:
        """The index of each entity."""
        return {id: index for index, id in enumerate(self.ids)}

    @cached_property
    def degrees(self) -> Mapping[str, int]:
        """How many edges each entity has in the picture."""
        return edge_degrees(self.edges)

    @cached_property
    def dot_radii(self) -> Array:
        """The radius of each dot; its area grows with the degree."""
        degrees = np.array([self.degrees.get(id, 0) for id in self.ids])
        shrink = np.clip(np.sqrt(CROWDED / max(len(degrees), 1)), 0.55, 1.0)
        return np.asarray(shrink * np.minimum(2.2 + 1.3 * np.sqrt(degrees), MAX_DOT_RADIUS))


def whole_graph_picture(edges: Sequence[GraphEdge], labels: Mapping[str, EntityLabel]) -> GraphPicture:
    """The whole graph by force-directed layout, best connected first; positions are cached."""
    degrees = edge_degrees(edges)
    ids = sorted(degrees, key=lambda id: (-degrees[id], id))
    ends = edge_ends(edges, {id: index for index, id in enumerate(ids)})
    key = f"graph.{sha256(ends.tobytes()).hexdigest()}"
    positions = cache.get_or_set(key, lambda: whole_graph_positions(len(ids), ends), POSITIONS_TTL_S)
    return GraphPicture(ids, labels, edges, np.asarray(positions))


def walk_picture(
    walk: GraphWalk, edges: Sequence[GraphEdge], labels: Mapping[str, EntityLabel], path: GraphPath | None
) -> GraphPicture:
    """What a walk reaches, in rings by hops; the chosen path first, then the best reached."""
    in_edges = edge_degrees(edges)
    on_path = [step.to for step in path.steps] if path else []
    ids = list(dict.fromkeys([walk.root, *on_path, *(id for id in walk.reached_entities if id in in_edges)]))
    # Angles depend on ids alone, so that nothing moves when scores change.
    by_id = sorted(ids, key=lambda id: (id != walk.root, id))
    indices = {id: index for index, id in enumerate(by_id)}
    neighbours = neighbour_lists(len(ids), edge_ends(sorted(edges), indices))
    layout = ring_layout(neighbours, 0, np.array([walk.hops_to(id) for id in by_id], float))
    return GraphPicture(ids, labels, edges, layout.positions[[indices[id] for id in ids]], walk, path, layout.radii)


def edge_ends(edges: Sequence[GraphEdge], indices: Mapping[str, int]) -> IndexArray:
    """The indices of both ends of each edge."""
    return np.array([(indices[edge.source], indices[edge.target]) for edge in edges], int).reshape(-1, 2)
