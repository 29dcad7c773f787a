"""Paths from one entity, computed by the formulas of graph traversal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from memories.pages.graph.edge_list import GraphEdge
from scoring.graph import (
    AdjacencyLists,
    PathWidths,
    ReachedEntity,
    adjacency_lists,
    best_paths,
    path_edges,
    path_widths,
)


class PathStep(NamedTuple):
    """One edge of a path, and whether it is walked against its direction."""

    edge: GraphEdge
    backwards: bool

    @property
    def to(self) -> str:
        """The entity it leads to."""
        return self.edge.source if self.backwards else self.edge.target


@dataclass(frozen=True)
class GraphPath:
    """The best path to an entity."""

    steps: Sequence[PathStep]
    reached: ReachedEntity

    @property
    def weakest(self) -> GraphEdge:
        """The edge with the lowest confidence, which is that of the path."""
        return min((step.edge for step in self.steps), key=lambda edge: edge.confidence)


@dataclass(frozen=True)
class GraphWalk:
    """Everything reached from an entity over some edges."""

    root: str
    edges: Sequence[GraphEdge]
    hop_scores: Sequence[float]

    @cached_property
    def indices(self) -> Mapping[str, int]:
        """The index of each entity in the formulas' arrays."""
        ends = (entity for edge in self.edges for entity in (edge.source, edge.target))
        return {id: index for index, id in enumerate(dict.fromkeys((self.root, *ends)))}

    @cached_property
    def adjacency(self) -> AdjacencyLists:
        """The neighbours of each entity."""
        indices = self.indices
        return adjacency_lists((indices[edge.source], indices[edge.target], edge.confidence) for edge in self.edges)

    @cached_property
    def widths(self) -> PathWidths:
        """The widest paths, hop by hop."""
        return path_widths(self.adjacency, [self.indices[self.root]], len(self.hop_scores))

    @cached_property
    def reached_entities(self) -> Mapping[str, ReachedEntity]:
        """Every entity reached, best first."""
        ids = list(self.indices)
        reached = {ids[index]: entity for index, entity in best_paths(self.widths, self.hop_scores).items()}
        return dict(sorted(reached.items(), key=lambda item: (-item[1].score, item[1].hops, item[0])))

    def path(self, end: str) -> GraphPath | None:
        """The best path to an entity; None if it is not reached."""
        if end not in self.reached_entities:
            return None
        reached, here, steps = self.reached_entities[end], self.root, list[PathStep]()
        for index in path_edges(self.adjacency, self.widths, self.indices[end], reached.hops):
            edge = self.edges[index]
            steps.append(PathStep(edge, backwards=edge.source != here))
            here = steps[-1].to
        return GraphPath(steps, reached)

    def edge_hop(self, edge: GraphEdge) -> int:
        """The first hop at which a path takes an edge."""
        return min(1 + min(self.hops_to(edge.source), self.hops_to(edge.target)), len(self.hop_scores))

    def hops_to(self, entity: str) -> int:
        """How many hops away an entity is."""
        return 0 if entity == self.root else self.reached_entities[entity].hops

    @cached_property
    def inner_edges(self) -> list[GraphEdge]:
        """The edges between reached entities, those of the best reached first."""
        inner = [edge for edge in self.edges if self.reaches(edge.source) and self.reaches(edge.target)]
        return sorted(inner, key=lambda edge: (-self.edge_score(edge), -edge.confidence, edge.id))

    def reaches(self, entity: str) -> bool:
        """Whether a path leads to an entity."""
        return entity == self.root or entity in self.reached_entities

    def edge_score(self, edge: GraphEdge) -> float:
        """The lower score of its two ends."""
        return min(
            (self.reached_entities[end].score for end in (edge.source, edge.target) if end != self.root), default=1.0
        )
