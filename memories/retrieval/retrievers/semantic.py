"""Semantic: the memories whose vectors are nearest to the query's."""

from collections.abc import Callable
from functools import lru_cache, partial

from psycopg.sql import Literal

from memories.db.pipeline import Statement
from memories.models.choices import EMBEDDERS, Route
from memories.retrieval.retrievers.context import RetrieverContext

# The effort of the HNSW search: how many of the nearest found so far it keeps open. Until a namespace's index has been
# measured, the effort that finds .95 of the ten nearest among 100,000; pgvector allows at most 1,000.
EF_SEARCH, MAX_EF_SEARCH = 100, 1_000
OF_NAMESPACE = "v.namespace_id = %(namespace)s"
# Hides the condition from the planner: with an estimate of the namespace's share of the table, the generic plan would
# avoid the HNSW index.
OF_NAMESPACE_UNESTIMATED = f"CASE WHEN {OF_NAMESPACE} THEN true ELSE false END"


def sql(context: RetrieverContext, route: Route = Route.FULL) -> Statement:
    """Scan all vectors of a small namespace; search the HNSW index of a large one, and scan what it lacks."""
    scope = context.scope
    if not context.indexed:
        return context.statement(nearest_sql(scope.condition, scope.plain, route))
    # With a filter, or on another route, the planner must estimate how many rows match.
    namespace = OF_NAMESPACE_UNESTIMATED if scope.plain and route == Route.FULL else OF_NAMESPACE
    return context.statement(hnsw_sql(scope.condition, scope.plain, route, context.parsed.embedder, namespace))


def route_sql(route: Route) -> Callable[[RetrieverContext], Statement]:
    """The retriever by another route, one of a memory's other vectors."""
    return partial(sql, route=route)


def ef_search(measured: int, depth: int) -> int:
    """The effort of a search: as measured, else the default; never less than the list is long."""
    return min(max(depth, measured or EF_SEARCH), MAX_EF_SEARCH)


def hnsw_settings(effort: int) -> dict[str, str]:
    """Iterate until enough rows match: the nearest in the index may belong to another namespace, or be filtered."""
    return {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": str(effort)}


@lru_cache(maxsize=256)
def hnsw_sql(condition: str, plain: bool, route: Route, embedder: str, namespace: str) -> str:
    """The nearest by index, merged with a scan of the vectors that are not indexed."""
    # The planner uses the index only with this cast and the embedder as a literal.
    halfvec = f"halfvec({EMBEDDERS[embedder]})"
    by_index = nearest_sql(
        condition,
        plain,
        route,
        among=f"AND v.embedder = {Literal(embedder).as_string()} AND v.indexed",
        order=f"v.vector::{halfvec} <=> %(vector)s::vector::{halfvec}",  # a second sort key would rule the index out
        namespace=namespace,
    )
    scan = partial(nearest_sql, condition, plain, route)
    # An iterative scan gives up after hnsw.max_scan_tuples: then scan everything.
    incomplete = "(SELECT count(*) FROM by_index) < %(depth)s"
    return f"""
        WITH by_index AS MATERIALIZED ({by_index})
        SELECT * FROM (
            SELECT * FROM by_index WHERE NOT {incomplete}
            UNION ALL ({scan(among="AND NOT v.indexed")})
            UNION ALL ({scan(among=f"AND v.indexed AND {incomplete}")})
        ) AS found ORDER BY score DESC, memory_id LIMIT %(depth)s
    """


def nearest_sql(
    condition: str,
    plain: bool,
    route: Route,
    *,
    among: str = "",
    order: str = "v.vector <=> %(vector)s::vector, v.memory_id",
    namespace: str = OF_NAMESPACE,
) -> str:
    """The nearest vectors in a given order; without filters, the vector's own row says whether it is in scope."""
    # A namespace condition on both tables would bring the estimate back.
    same_namespace = "m.namespace_id = v.namespace_id AND " if namespace == OF_NAMESPACE else ""
    join = "" if plain else f"JOIN memories_memory m ON {same_namespace}m.id = v.memory_id"
    in_scope = "v.active AND v.level = ANY(%(levels)s)" if plain else condition
    return f"""
        SELECT v.memory_id, 1 - (v.vector <=> %(vector)s::vector) AS score
        FROM memories_memoryvector v {join}
        WHERE v.embedder = %(embedder)s AND v.route = '{route}' AND {namespace} {among} AND {in_scope}
        ORDER BY {order} LIMIT %(depth)s
    """
