"""Every retriever by the name of its route; each puts one question, or none where the query gives it nothing to ask."""

from collections.abc import Callable, Mapping

from memories.models.choices import Route
from memories.retrieval.retrievers.bm25 import bm25
from memories.retrieval.retrievers.entity import entity
from memories.retrieval.retrievers.lexical import lexical
from memories.retrieval.retrievers.question import Asked, Question, Unready
from memories.retrieval.retrievers.semantic import by_route, semantic
from memories.retrieval.retrievers.temporal import temporal
from memories.retrieval.retrievers.traversal import traversal

RETRIEVERS: Mapping[str, Callable[[Asked], Question | Unready | None]] = {
    "semantic": semantic,
    "bm25": bm25,
    "entity": entity,
    "temporal": temporal,
    "traversal": traversal,
    "context": by_route[Route.CONTEXT],
    "lexical": lexical,
    **{route.value: by_route[route] for route in Route if route != Route.CONTEXT},
}
# What a query must be understood to say, for a retriever to have something to ask.
NEEDS: Mapping[str, str] = {"entity": "entities", "traversal": "entities", "temporal": "window"}
