"""Every retriever by the name of its route; each puts one question, or none where the query gives it nothing to ask."""

from collections.abc import Callable, Mapping

from memories.models.choices import Route
from memories.retrieval.retrievers.bm25 import bm25_query
from memories.retrieval.retrievers.entity import entity_query
from memories.retrieval.retrievers.lexical import lexical_query
from memories.retrieval.retrievers.retriever_context import PendingQuery, RetrieverContext, RetrieverQuery
from memories.retrieval.retrievers.semantic import VECTOR_QUERIES, semantic_query
from memories.retrieval.retrievers.temporal import temporal_query
from memories.retrieval.retrievers.traversal import traversal_query

RETRIEVERS: Mapping[str, Callable[[RetrieverContext], RetrieverQuery | PendingQuery | None]] = {
    "semantic": semantic_query,
    "bm25": bm25_query,
    "entity": entity_query,
    "temporal": temporal_query,
    "traversal": traversal_query,
    "context": VECTOR_QUERIES[Route.CONTEXT],
    "lexical": lexical_query,
    **{route.value: VECTOR_QUERIES[route] for route in Route if route != Route.CONTEXT},
}
# What a query must be understood to say, for a retriever to have something to ask.
NEEDS: Mapping[str, str] = {"entity": "entities", "traversal": "entities", "temporal": "window"}
