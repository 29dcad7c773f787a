"""One memory under every system: its rank and score for a query, and why it is missing."""

from dataclasses import dataclass, replace

from memories.contracts.why_not import WhyNot
from memories.models import Memory, Namespace
from memories.pages.explanation_nodes import ExplanationNode, explanation_node
from memories.pages.retriever_styles import retriever_style
from memories.retrieval.answer import failed_gates, retriever_hits
from memories.retrieval.compare import compare_systems
from memories.retrieval.config import resolve_config
from memories.retrieval.query import Config, Query
from memories.retrieval.retrieve import Retrieval
from memories.retrieval.smallest_change import answer_rank
from memories.retrieval.why_not import find_exclusions, ordinal, why_not
from memories.web.retrieval_body import QuerySerializer, query_from_body
from memories.web.serializers import valid_values
from scoring.systems import SYSTEMS


@dataclass(frozen=True)
class SystemScore:
    """A memory's result under one system."""

    system: str
    summary: str
    rank: int | None  # in the answer; None if it is not returned
    score: float | None  # None if it is not a candidate
    sentence: str
    tree: ExplanationNode | None


def query_for_all_systems(namespace: Namespace, text: str) -> tuple[Query, dict[str, Config]]:
    """The query as the API's comparison builds it, and each system's default configuration; raises ValidationError."""
    configs = {name: resolve_config(namespace, system=name, params={}) for name in SYSTEMS}
    body = valid_values(QuerySerializer(data={"query": text}))
    return query_from_body(namespace, body, next(iter(configs.values()))), configs


def score_under_all_systems(namespace: Namespace, memory: Memory, text: str) -> list[SystemScore]:
    """The memory's result under every system; no trace is stored."""
    query, configs = query_for_all_systems(namespace, text)
    return [system_score(name, retrieval, memory) for name, retrieval in compare_systems(query, configs).items()]


def system_score(name: str, retrieval: Retrieval, memory: Memory) -> SystemScore:
    """The memory's result in one retrieval."""
    ids = [candidate["id"] for candidate in retrieval.candidates.rows]
    row = ids.index(memory.id) if memory.id in ids else None
    rank = answer_rank(retrieval, memory.id)
    score = retrieval.ranking.score
    return SystemScore(
        name,
        SYSTEMS[name].summary,
        rank,
        None if row is None else float(score.value[row]),
        result_sentence(retrieval, memory, row, rank),
        None if row is None else explanation_node(score.tree(row)),
    )


def result_sentence(retrieval: Retrieval, memory: Memory, row: int | None, rank: int | None) -> str:
    """Which retrievers found the memory, and why it is not returned."""
    if row is None:
        exclusions = find_exclusions(retrieval.query, memory)
        if exclusions:
            return f"It cannot be returned: {'; '.join(exclusions)}."
        return "Not a candidate: no ranked list reaches it."
    found_by = format_retriever_ranks(retrieval, row)
    if rank:
        return f"{found_by}."
    if gates := failed_gates(retrieval, row):
        return f"{found_by}; filtered: {', '.join(gates).replace('_', ' ')}."
    if retrieval.ranking.abstained:
        return f"{found_by}; the system abstained."
    scores = retrieval.ranking.score.value
    above = int((scores > scores[row]).sum())
    return (
        f"{found_by}; {ordinal(above + 1)} of {len(retrieval.signals)} by score, "
        f"{len(retrieval.ranking.order.rows)} returned."
    )


def format_retriever_ranks(retrieval: Retrieval, row: int) -> str:
    """The rank of a candidate in each retriever's list."""
    [hits] = retriever_hits(retrieval.signals, [row])
    ranks = {retriever_style(retriever).name: hit.rank for retriever, hit in hits.items() if hit.rank}
    return ", ".join(f"{label} {ordinal(int(rank))}" for label, rank in ranks.items()) or "found"


def why_not_under_system(namespace: Namespace, memory: Memory, text: str, system: str) -> WhyNot:
    """Why a system does not return the memory, and the smallest change that would."""
    query, configs = query_for_all_systems(namespace, text)
    return why_not(replace(query, config=configs[system]), memory.id)
