r"""What edges between entities, and between memories, say about relevance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.signals import Edges
from scoring.term import Array, Mask, Quantity


def hop_score(hops: int, scores: Sequence[float]) -> float:
    r"""Relevance drops with each hop; past the last one it is below the noise.

    $$ \text{hop_score}(\text{hops}) = \begin{cases} 1.0 & 1 \\ 0.6 & 2 \\ 0.35 & 3 \end{cases} $$

    >>> [hop_score(hops, (1.0, 0.6, 0.35)) for hops in (1, 2, 3, 4)]
    [1.0, 0.6, 0.35, 0.0]
    """
    return scores[hops - 1] if 1 <= hops <= len(scores) else 0.0


def path_confidence(edges: Iterable[float]) -> float:
    r"""A path is as trustworthy as its weakest edge: the minimum, not the product.

    $$ \text{path_confidence} = \min_i \text{conf}(\text{edge}_i) $$

    >>> path_confidence([0.8, 0.8, 0.8])
    0.8
    """
    return min(edges)


def traversal_score(hop: Quantity, confidence: Quantity | float) -> Quantity:
    r"""What multi-hop search hands to fusion.

    $$ \text{traversal_score} = \text{hop_score}(\text{hops}) \times \text{path_confidence} $$

    >>> traversal_score(np.array([1.0, 0.6, 0.35]), np.array([0.9, 0.8, 0.8])).round(2)
    array([0.9 , 0.48, 0.28])
    """
    return hop * confidence


def entity_score(is_subject: Mask, match: Array, mention_weight: float) -> Array:
    r"""What the entity retriever hands to fusion: a memory about the entity, or one that only mentions it.

    $$ \text{match confidence} \times \begin{cases} 1 & \text{subject} \\ 0.6 & \text{mention} \end{cases} $$

    >>> entity_score(np.array([True, False]), np.array([0.9, 0.9]), 0.6)
    array([0.9 , 0.54])
    """
    return np.where(is_subject, 1.0, mention_weight) * match


class Reached(NamedTuple):
    """An entity found by walking: how far, over which weakest edge, worth how much."""

    hops: int
    confidence: float
    score: float


Neighbours = Mapping[int, Sequence[tuple[int, float, int]]]
Widths = Sequence[Mapping[int, float]]


def traverse(
    edges: Iterable[tuple[int, int, float]], roots: Iterable[int], hop_scores: Sequence[float]
) -> dict[int, Reached]:
    """Walk edges both ways from the roots; the best-scoring path to each entity wins, roots themselves are hop 0.

    >>> traverse([(1, 2, 0.9), (2, 3, 0.5), (1, 3, 0.2)], [1], (1.0, 0.6, 0.35))
    {2: Reached(hops=1, confidence=0.9, score=0.9), 3: Reached(hops=2, confidence=0.5, score=0.3)}
    """
    return best(widths(neighbours(edges), roots, len(hop_scores)), hop_scores)


def neighbours(edges: Iterable[tuple[int, int, float]]) -> Neighbours:
    """Whom each entity is joined to, either way, how surely, and by which edge."""
    joined: dict[int, list[tuple[int, float, int]]] = {}
    for place, (one, other, confidence) in enumerate(edges):
        joined.setdefault(one, []).append((other, confidence, place))
        joined.setdefault(other, []).append((one, confidence, place))
    return joined


def widths(joined: Neighbours, roots: Iterable[int], hops: int) -> Widths:
    """For each number of hops from 0 on, the confidence of the widest path of exactly so many to each entity."""
    layers: list[Mapping[int, float]] = [dict.fromkeys(roots, 1.0)]
    for _ in range(hops):
        onward: dict[int, float] = {}
        for entity, confidence in layers[-1].items():
            for other, edge, _ in joined.get(entity, ()):
                onward[other] = max(onward.get(other, 0.0), path_confidence((confidence, edge)))
        layers.append(onward)
    return layers


def best(layers: Widths, hop_scores: Sequence[float]) -> dict[int, Reached]:
    """Of the widest paths to each entity the one that scores best: shorter and weaker ones compete by score."""
    roots, *onward = layers
    found: dict[int, Reached] = {}
    for hops, reached in enumerate(onward, start=1):
        for entity, confidence in reached.items():
            score = hop_score(hops, hop_scores) * confidence
            if entity not in roots and (entity not in found or score > found[entity].score):
                found[entity] = Reached(hops, confidence, score)
    return found


def way(joined: Neighbours, layers: Widths, end: int, hops: int) -> list[int]:
    """The edges of the widest path of so many hops to an entity, from its root on.

    >>> joined = neighbours([(1, 2, 0.9), (2, 3, 0.5), (1, 3, 0.2)])
    >>> way(joined, widths(joined, [1], 2), 3, 2)
    [0, 1]
    """
    along: list[int] = []
    for before in reversed(layers[:hops]):
        last = ((before[other], edge, -place, other) for other, edge, place in joined[end] if other in before)
        _, _, place, end = max(last, key=lambda one: (path_confidence(one[:2]), *one[1:3]))
        along.append(-place)
    return along[::-1]


def edge_reach(edges: Edges, anchors: Mask, depth: int, kinds: Sequence[str]) -> Mapping[str, Mask]:
    r"""For each kind of edge, the candidates on which a path from an anchor lands through it; no path visits one twice.

    $$ \text{boost}(m) = \max\{b_{\text{kind}} : \text{anchor} \leadsto m \text{ ends in an edge of that kind}\} $$
    """
    start, end, kind = edges.both_ways
    landed = np.zeros((len(kinds), len(anchors)), bool)
    paths = np.flatnonzero(anchors)[:, None]
    for _ in range(depth):
        first, behind = np.searchsorted(start, paths[:, -1]), np.searchsorted(start, paths[:, -1], side="right")
        leaving = behind - first
        path = np.repeat(np.arange(len(paths)), leaving)
        edge = np.repeat(behind - np.cumsum(leaving), leaving) + np.arange(len(path))
        new = (paths[path] != end[edge][:, None]).all(axis=1)
        path, edge = path[new], edge[new]
        landed[kind[edge], end[edge]] = True
        paths = np.column_stack([paths[path], end[edge]])
    return dict(zip(kinds, landed, strict=True))


def best_edge(edges: Edges, anchors: Mask) -> Array:
    """The weight of the strongest edge that joins each candidate to an anchor; 0 where there is none."""
    strongest = np.zeros(len(anchors))
    for here, there in ((edges.source, edges.target), (edges.target, edges.source)):
        joined = anchors[here]
        np.maximum.at(strongest, there[joined], edges.weight[joined])
    return strongest
