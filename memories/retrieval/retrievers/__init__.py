"""The retrievers by name: each writes an SQL statement, or none if the query has nothing for it to search for."""

from collections.abc import Callable, Mapping

from memories.db.pipeline import Staged, Statement
from memories.models.choices import Route
from memories.retrieval.retrievers import bm25, entity, lexical, memory_edges, semantic, temporal, traversal
from memories.retrieval.retrievers.context import RetrieverContext

RETRIEVERS: Mapping[str, Callable[[RetrieverContext], Statement | Staged | None]] = {
    "semantic": semantic.sql,
    "bm25": bm25.sql,
    "entity": entity.sql,
    "temporal": temporal.sql,
    "traversal": traversal.sql,
    "context": semantic.route_sql(Route.CONTEXT),
    "edges": memory_edges.sql,
    "lexical": lexical.sql,
    **{route.value: semantic.route_sql(route) for route in Route if route != Route.CONTEXT},
}
# A list may lack memories where thousands score alike; then it is completed by the scores of what others found.
SCORES_OF: Mapping[str, Callable[[RetrieverContext, str], Statement | None]] = {
    "entity": entity.scores_of,
    "temporal": temporal.scores_of,
}
# What the parsed query must have for a retriever to have something to search for.
NEEDS: Mapping[str, str] = {"entity": "entities", "traversal": "entities", "temporal": "window"}
