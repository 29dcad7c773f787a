r"""Graph scores: traversal of entity edges, and edges between memories."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.signals import Edges
from scoring.term import Array, Mask, Quantity


def hop_score(hops: int, scores: Sequence[float]) -> float:
    r"""Score of a hop distance; 0 beyond the last declared hop.

    $$ \text{hop_score}(\text{hops}) = \begin{cases} 1.0 & 1 \\ 0.6 & 2 \\ 0.35 & 3 \end{cases} $$

    >>> [hop_score(hops, (1.0, 0.6, 0.35)) for hops in (1, 2, 3, 4)]
    [1.0, 0.6, 0.35, 0.0]
    """
    return scores[hops - 1] if 1 <= hops <= len(scores) else 0.0


def path_confidence(edges: Iterable[float]) -> float:
    r"""Confidence of the weakest edge of a path: the minimum, not the product.

    $$ \text{path_confidence} = \min_i \text{conf}(\text{edge}_i) $$

    >>> path_confidence([0.8, 0.8, 0.8])
    0.8
    """
    return min(edges)


def traversal_score(hop: Quantity, confidence: Quantity | float) -> Quantity:
    r"""Score of the traversal retriever.

    $$ \text{traversal_score} = \text{hop_score}(\text{hops}) \times \text{path_confidence} $$

    >>> traversal_score(np.array([1.0, 0.6, 0.35]), np.array([0.9, 0.8, 0.8])).round(2)
    array([0.9 , 0.48, 0.28])
    """
    return hop * confidence


def entity_score(is_subject: Mask, match: Array, mention_weight: float) -> Array:
    r"""Score of the entity retriever: full for the subject of a memory, less for a mention.

    $$ \text{match confidence} \times \begin{cases} 1 & \text{subject} \\ 0.6 & \text{mention} \end{cases} $$

    >>> entity_score(np.array([True, False]), np.array([0.9, 0.9]), 0.6)
    array([0.9 , 0.54])
    """
    return np.where(is_subject, 1.0, mention_weight) * match


class ReachedEntity(NamedTuple):
    """An entity found by traversal: hops, path confidence and score."""

    hops: int
    confidence: float
    score: float


AdjacencyLists = Mapping[int, Sequence[tuple[int, float, int]]]
PathWidths = Sequence[Mapping[int, float]]


def traverse(
    edges: Iterable[tuple[int, int, float]], roots: Iterable[int], hop_scores: Sequence[float]
) -> dict[int, ReachedEntity]:
    """Traverse edges in both directions from the roots; each entity keeps its best-scoring path, roots are left out.

    >>> traverse([(1, 2, 0.9), (2, 3, 0.5), (1, 3, 0.2)], [1], (1.0, 0.6, 0.35))
    {2: ReachedEntity(hops=1, confidence=0.9, score=0.9), 3: ReachedEntity(hops=2, confidence=0.5, score=0.3)}
    """
    return best_paths(path_widths(adjacency_lists(edges), roots, len(hop_scores)), hop_scores)


def adjacency_lists(edges: Iterable[tuple[int, int, float]]) -> AdjacencyLists:
    """Undirected adjacency lists: neighbour, confidence and edge index."""
    adjacency: dict[int, list[tuple[int, float, int]]] = {}
    for index, (source, target, confidence) in enumerate(edges):
        adjacency.setdefault(source, []).append((target, confidence, index))
        adjacency.setdefault(target, []).append((source, confidence, index))
    return adjacency


def path_widths(adjacency: AdjacencyLists, roots: Iterable[int], hops: int) -> PathWidths:
    """For each hop count from 0, the confidence of the widest path of exactly that length to each entity."""
    layers: list[Mapping[int, float]] = [dict.fromkeys(roots, 1.0)]
    for _ in range(hops):
        reached: dict[int, float] = {}
        for entity, confidence in layers[-1].items():
            for neighbour, edge, _ in adjacency.get(entity, ()):
                reached[neighbour] = max(reached.get(neighbour, 0.0), path_confidence((confidence, edge)))
        layers.append(reached)
    return layers


def best_paths(layers: PathWidths, hop_scores: Sequence[float]) -> dict[int, ReachedEntity]:
    """The best-scoring of the widest paths to each entity, over all lengths."""
    roots, *later_layers = layers
    best: dict[int, ReachedEntity] = {}
    for hops, reached in enumerate(later_layers, start=1):
        for entity, confidence in reached.items():
            score = hop_score(hops, hop_scores) * confidence
            if entity not in roots and (entity not in best or score > best[entity].score):
                best[entity] = ReachedEntity(hops, confidence, score)
    return best


def path_edges(adjacency: AdjacencyLists, layers: PathWidths, end: int, hops: int) -> list[int]:
    """Edge indices of the widest path of `hops` edges to an entity, from the root.

    >>> adjacency = adjacency_lists([(1, 2, 0.9), (2, 3, 0.5), (1, 3, 0.2)])
    >>> path_edges(adjacency, path_widths(adjacency, [1], 2), 3, 2)
    [0, 1]
    """
    path: list[int] = []
    for layer in reversed(layers[:hops]):
        last_edges = (
            (layer[neighbour], edge, -index, neighbour)
            for neighbour, edge, index in adjacency[end]
            if neighbour in layer
        )
        _, _, index, end = max(last_edges, key=lambda last: (path_confidence(last[:2]), *last[1:3]))
        path.append(-index)
    return path[::-1]


def edge_reach(edges: Edges, anchors: Mask, depth: int, kinds: Sequence[str], *, through: Mask) -> Mapping[str, Mask]:
    r"""For each edge kind, the candidates that a simple path from an anchor reaches by an edge of that kind.

    A path leads only `through` some of the candidates; it may end at any.

    $$ \text{boost}(m) = \max\{b_{\text{kind}} : \text{anchor} \leadsto m \text{ ends in an edge of that kind}\} $$
    """
    start, end, kind = edges.undirected
    reached = np.zeros((len(kinds), len(anchors)), bool)
    paths = np.flatnonzero(anchors)[:, None]
    for _ in range(depth):
        # The edges from the end of each path are a slice of the edges sorted by start.
        first, stop = np.searchsorted(start, paths[:, -1]), np.searchsorted(start, paths[:, -1], side="right")
        degree = stop - first
        path = np.repeat(np.arange(len(paths)), degree)
        edge = np.repeat(stop - np.cumsum(degree), degree) + np.arange(len(path))
        new = (paths[path] != end[edge][:, None]).all(axis=1)
        path, edge = path[new], edge[new]
        reached[kind[edge], end[edge]] = True
        onward = through[end[edge]]
        paths = np.column_stack([paths[path[onward]], end[edge[onward]]])
    return dict(zip(kinds, reached, strict=True))


def strongest_edge(edges: Edges, anchors: Mask) -> Array:
    """Weight of the strongest edge between each candidate and an anchor; 0 without one."""
    strongest = np.zeros(len(anchors))
    for start, end in ((edges.source, edges.target), (edges.target, edges.source)):
        anchored = anchors[start]
        np.maximum.at(strongest, end[anchored], edges.weight[anchored])
    return strongest
