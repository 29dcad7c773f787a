"""Label and colour of each retriever, the same on every page and chart."""

from collections.abc import Iterable
from typing import NamedTuple


class RetrieverStyle(NamedTuple):
    """A retriever's display name and colour token."""

    name: str
    colour: str


RETRIEVER_STYLES = {
    "semantic": RetrieverStyle("semantic", "semantic"),
    "bm25": RetrieverStyle("BM25", "bm25"),
    "entity": RetrieverStyle("entity graph", "entity"),
    "temporal": RetrieverStyle("temporal", "temporal"),
    "traversal": RetrieverStyle("graph traversal", "traversal"),
    "edges": RetrieverStyle("memory edges", "edges"),
    "context": RetrieverStyle("context", "semantic"),
    "vec_full": RetrieverStyle("full text vector", "semantic"),
    "vec_user": RetrieverStyle("user turn", "semantic"),
    "vec_asst": RetrieverStyle("assistant turn", "semantic"),
    "vec_next_user": RetrieverStyle("next user turn", "semantic"),
    "lexical": RetrieverStyle("lexical", "bm25"),
    "facet_personal_info": RetrieverStyle("personal info", "semantic"),
    "facet_preferences": RetrieverStyle("preferences", "semantic"),
    "facet_events": RetrieverStyle("events", "semantic"),
    "rerank": RetrieverStyle("reranker", "ink"),
    "MaxSim share": RetrieverStyle("MaxSim", "ink"),  # the name of blend's term
}
REMAINDER = "rest"  # part of a score that no retriever contributed


def retriever_style(retriever: str) -> RetrieverStyle:
    """A retriever's style; any other part of a score keeps its own name, in grey."""
    return RETRIEVER_STYLES.get(retriever, RetrieverStyle(retriever.removesuffix(" share").replace("_", " "), "mid"))


def retriever_legend(retrievers: Iterable[str]) -> list[RetrieverStyle]:
    """Chart legend: each style once."""
    return list(dict.fromkeys(retriever_style(name) for name in retrievers))
