"""How far paths lead from one entity, and over which edges: computed by the formulas that retrieval is tested by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from memories.pages.graph.edges import Edge
from scoring.graph import (
    AdjacencyLists,
    PathWidths,
    ReachedEntity,
    adjacency_lists,
    best_paths,
    path_edges,
    path_widths,
)


class Step(NamedTuple):
    """One edge of a path, and whether it is walked against its direction."""

    edge: Edge
    back: bool

    @property
    def to(self) -> str:
        """The entity that it leads to."""
        return self.edge.source if self.back else self.edge.target


@dataclass(frozen=True)
class Path:
    """The best path to an entity."""

    steps: Sequence[Step]
    reached: ReachedEntity

    @property
    def weakest(self) -> Edge:
        """The edge that a path is only as sure as."""
        return min((step.edge for step in self.steps), key=lambda edge: edge.confidence)


@dataclass(frozen=True)
class Walk:
    """All that is reached from an entity over some edges."""

    root: str
    edges: Sequence[Edge]
    hop_scores: Sequence[float]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The entities as the formulas count them."""
        ends = (end for edge in self.edges for end in (edge.source, edge.target))
        return {id: number for number, id in enumerate(dict.fromkeys((self.root, *ends)))}

    @cached_property
    def joined(self) -> AdjacencyLists:
        """Whom each entity is joined to."""
        of = self.numbers
        return adjacency_lists((of[edge.source], of[edge.target], edge.confidence) for edge in self.edges)

    @cached_property
    def layers(self) -> PathWidths:
        """The widest paths, hop by hop."""
        return path_widths(self.joined, [self.numbers[self.root]], len(self.hop_scores))

    @cached_property
    def reached(self) -> Mapping[str, ReachedEntity]:
        """Every entity that is reached, the best first."""
        ids = list(self.numbers)
        found = {ids[number]: one for number, one in best_paths(self.layers, self.hop_scores).items()}
        return dict(sorted(found.items(), key=lambda pair: (-pair[1].score, pair[1].hops, pair[0])))

    def path(self, end: str) -> Path | None:
        """The best path to an entity; none where it is not reached."""
        if end not in self.reached:
            return None
        reached, here, steps = self.reached[end], self.root, list[Step]()
        for place in path_edges(self.joined, self.layers, self.numbers[end], reached.hops):
            edge = self.edges[place]
            steps.append(Step(edge, back=edge.source != here))
            here = steps[-1].to
        return Path(steps, reached)

    def hop_of(self, edge: Edge) -> int:
        """With which hop a path takes an edge first."""
        return min(1 + min(self.hops(edge.source), self.hops(edge.target)), len(self.hop_scores))

    def hops(self, entity: str) -> int:
        """How far away an entity is."""
        return 0 if entity == self.root else self.reached[entity].hops

    @cached_property
    def inside(self) -> list[Edge]:
        """The edges between what is reached, those of the best reached first."""
        found = [edge for edge in self.edges if self.holds(edge.source) and self.holds(edge.target)]
        return sorted(found, key=lambda edge: (-self.worth(edge), -edge.confidence, edge.id))

    def holds(self, entity: str) -> bool:
        """Whether a path leads there."""
        return entity == self.root or entity in self.reached

    def worth(self, edge: Edge) -> float:
        """The score of the less well reached of its ends."""
        return min((self.reached[end].score for end in (edge.source, edge.target) if end != self.root), default=1.0)
