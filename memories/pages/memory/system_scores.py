"""One memory under every system: where it stands for a query typed on the spot, and why."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memories.api.retrieval import QuerySerializer, query_from_body
from memories.models import Memory, Namespace
from memories.pages.explanation_nodes import ExplanationNode, explanation_node
from memories.retrieval.answer import failed_gates, retriever_hits
from memories.retrieval.compare import compare_systems
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.smallest_change import answer_rank
from memories.retrieval.why_not import WhyNot, find_exclusions, ordinal, why_not
from memories.web.serializers import valid_values
from scoring.systems import SYSTEMS

LISTS = {"semantic": "meaning", "bm25": "words", "lexical": "words", "entity": "entity", "temporal": "time"}
LISTS |= {"traversal": "paths", "vec_full": "meaning", "rerank": "the reranker"}


@dataclass(frozen=True)
class Score:
    """What one system makes of a memory for a query."""

    system: str
    summary: str
    rank: int | None  # its place in the answer; none where it does not come back
    score: float | None  # none where it is no candidate
    says: str
    tree: ExplanationNode | None


def asked(namespace: Namespace, text: str) -> tuple[Query, dict[str, Config]]:
    """A query as the comparison of the API asks it (ValidationError), and each system with its own defaults."""
    each = {name: resolve_config(namespace, system=name, params={}) for name in SYSTEMS}
    return query_from_body(
        namespace, valid_values(QuerySerializer(data={"query": text})), next(iter(each.values()))
    ), each


def scores(namespace: Namespace, memory: Memory, text: str) -> list[Score]:
    """Ask every system, and look for the memory in each answer; nothing is recorded."""
    query, each = asked(namespace, text)
    return [told(name, retrieval, memory) for name, retrieval in compare_systems(query, each).items()]


def told(name: str, retrieval: Retrieval, memory: Memory) -> Score:
    """Where a memory stands in one answer."""
    row = next((place for place, one in enumerate(retrieval.candidates.rows) if one["id"] == memory.id), None)
    rank = answer_rank(retrieval, memory.id)
    score = retrieval.ranking.score
    return Score(
        name,
        SYSTEMS[name].summary,
        rank,
        None if row is None else float(score.value[row]),
        sentence(retrieval, memory, row, rank),
        None if row is None else explanation_node(score.tree(row)),
    )


def sentence(retrieval: Retrieval, memory: Memory, row: int | None, rank: int | None) -> str:
    """Who found it, and what became of it."""
    if row is None:
        outside = find_exclusions(retrieval.query, memory)
        return f"It cannot come back: {'; '.join(outside)}." if outside else "No candidate: no list reaches down to it."
    signals = retrieval.signals
    [found] = retriever_hits(signals, [row])
    ranks: dict[str, Any] = {}
    for route, one in found.items():
        name = LISTS.get(route, route.removeprefix("vec_").removeprefix("facet_").replace("_", " "))
        ranks[name] = min(one["rank"] or np.inf, ranks.get(name, np.inf))
    said = ", ".join(f"{ordinal(int(place))} by {name}" for name, place in ranks.items()) or "found"
    if rank:
        return f"{said}."
    if gates := failed_gates(retrieval, row):
        return f"{said}; held back: {', '.join(gates).replace('_', ' ')}."
    if retrieval.ranking.abstained:
        return f"{said}; the whole answer was withheld."
    above = int((retrieval.ranking.score.value > retrieval.ranking.score.value[row]).sum())
    return (
        f"{said}; {ordinal(above + 1)} of {len(signals)} by score, and {len(retrieval.ranking.order.rows)} come back."
    )


def missed(namespace: Namespace, memory: Memory, text: str, system: str) -> WhyNot:
    """Why one system does not give it back, and the smallest change that would."""
    query, each = asked(namespace, text)
    return why_not(replace(query, config=each[system]), memory.id)
