"""Semantic: the memories whose vectors are nearest to the query's."""

from collections.abc import Callable
from functools import lru_cache, partial

from memories.db.pipeline import Statement
from memories.models.choices import Route
from memories.models.vector import index_predicate
from memories.retrieval.retrievers.context import RetrieverContext

# The effort of the HNSW search: how many of the nearest found so far it keeps open. Until a namespace's index has been
# measured, the effort that finds .95 of the ten nearest among 100,000; pgvector allows at most 1,000.
EF_SEARCH, MAX_EF_SEARCH = 100, 1_000
STORED = "v.namespace_id = %(namespace)s AND v.embedder = %(embedder)s"


def sql(context: RetrieverContext, route: Route = Route.FULL) -> Statement:
    """Scan all vectors of a small namespace; search the HNSW index of a large one, and scan what it lacks."""
    scope = context.scope
    if not context.indexed:
        return context.statement(nearest_sql(scope.condition, scope.plain, route))
    return context.statement(hnsw_sql(context, scope.condition, plain=scope.plain, route=route))


def route_sql(route: Route) -> Callable[[RetrieverContext], Statement]:
    """The retriever by another route, one of a memory's other vectors."""
    return partial(sql, route=route)


def ef_search(measured: int, depth: int) -> int:
    """The effort of a search: as measured, else the default; never less than the list is long."""
    return min(max(depth, measured or EF_SEARCH), MAX_EF_SEARCH)


def hnsw_settings(effort: int) -> dict[str, str]:
    """Iterate until enough rows match: the nearest in the index may be filtered."""
    return {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": str(effort)}


def hnsw_sql(context: RetrieverContext, condition: str, *, plain: bool, route: Route = Route.FULL) -> str:
    """The nearest by the namespace's index, merged with a scan of the vectors that are not indexed."""
    stored = index_predicate(context.namespace.id, context.parsed.embedder, table="v.")
    return merged_sql(condition, plain, route, stored, len(context.parsed.vector))


@lru_cache(maxsize=256)
def merged_sql(condition: str, plain: bool, route: Route, stored: str, dimensions: int) -> str:
    """The nearest among the rows of an index, merged with a scan of the vectors that are not indexed."""
    halfvec = f"halfvec({dimensions})"
    by_index = nearest_sql(
        condition,
        plain,
        route,
        order=f"v.vector::{halfvec} <=> %(vector)s::vector::{halfvec}",  # a second sort key would rule the index out
        stored=stored,
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
    stored: str = STORED,
) -> str:
    """The nearest vectors in a given order; without filters, the vector's own row says whether it is in scope."""
    join = "" if plain else "JOIN memories_memory m ON m.namespace_id = v.namespace_id AND m.id = v.memory_id"
    in_scope = "v.active AND v.level = ANY(%(levels)s)" if plain else condition
    return f"""
        SELECT v.memory_id, 1 - (v.vector <=> %(vector)s::vector) AS score
        FROM memories_memoryvector v {join}
        WHERE {stored} AND v.route = '{route}' {among} AND {in_scope}
        ORDER BY {order} LIMIT %(depth)s
    """
