"""By meaning: the memories whose vectors lie nearest to the query's."""

from functools import lru_cache, partial

from psycopg.sql import Literal

from memories.models.choices import EMBEDDERS, Route
from memories.retrieval.retrievers.retriever_context import RetrieverContext, RetrieverQuery

MIN_EF_SEARCH, MAX_EF_SEARCH = 80, 1_000  # how many neighbours a search of the index keeps in view; pgvector's bound
IN_THIS_NAMESPACE = "v.namespace_id = %(namespace)s"
# One plan serves every namespace for which the index is asked, so that nobody plans each question anew; to weigh how
# much of the table is of this namespace would lead to an index that is good for small ones.
NAMESPACE_UNESTIMATED = f"CASE WHEN {IN_THIS_NAMESPACE} THEN true ELSE false END"


def semantic_query(asked: RetrieverContext, route: Route = Route.FULL) -> RetrieverQuery:
    """Compare with each vector of a route, or ask the index and compare with what it does not have yet."""
    scope = asked.scope
    if not asked.large:
        return asked.query(nearest_sql(scope.condition, scope.plain, route, "v.vector", "", "%(vector)s::vector"))
    # Of others, how many a filter lets through or have a vector of the route tells how they are best found.
    of_all = scope.plain and route == Route.FULL
    sql = hnsw_sql(
        scope.condition,
        scope.plain,
        route,
        asked.parsed.embedder,
        NAMESPACE_UNESTIMATED if of_all else IN_THIS_NAMESPACE,
    )
    return asked.query(sql, settings=hnsw_settings(asked), generic_plan=of_all)


def hnsw_settings(asked: RetrieverContext) -> dict[str, str]:
    """How far the index is searched."""
    # Go on until enough rows match: the nearest in the index may be another namespace's, or filtered out.
    width = min(max(asked.depth, MIN_EF_SEARCH), MAX_EF_SEARCH)
    return {"hnsw.iterative_scan": "strict_order", "hnsw.ef_search": str(width)}


@lru_cache(maxsize=256)  # to write it takes longer than to send it
def hnsw_sql(condition: str, plain: bool, route: Route, embedder: str, mine: str) -> str:
    """The nearest that the index finds, and of those it does not have."""
    # Without its cast, and without the embedder as a literal, the index would be left out.
    halves = f"halfvec({EMBEDDERS[embedder]})"
    literal = f"AND v.embedder = {Literal(embedder).as_string()}"
    indexed = nearest_sql(
        condition,
        plain,
        route,
        f"v.vector::{halves}",
        f"{literal} AND v.indexed",
        f"%(vector)s::vector::{halves}",
        then="",  # to tell equals apart the index would be searched once more for the next
        mine=mine,
    )
    exactly = partial(nearest_sql, condition, plain, route, "v.vector", wanted="%(vector)s::vector")
    # A search of the index ends after so many steps, whatever it has found: where it came short, all are compared.
    short = "(SELECT count(*) FROM by_index) < %(pool)s"
    return f"""
        WITH by_index AS MATERIALIZED ({indexed})
        SELECT * FROM (
            SELECT * FROM by_index WHERE NOT {short}
            UNION ALL ({exactly(among="AND NOT v.indexed")})
            UNION ALL ({exactly(among=f"AND v.indexed AND {short}")})
        ) AS found ORDER BY score DESC, memory_id LIMIT %(pool)s
    """


def nearest_sql(
    condition: str,
    plain: bool,
    route: Route,
    vector: str,
    among: str,
    wanted: str,
    then: str = ", v.memory_id",
    mine: str = IN_THIS_NAMESPACE,
) -> str:
    """The nearest vectors by one way of comparing."""
    # Where both tables told the namespace, the database would weigh it after all.
    same = "m.namespace_id = v.namespace_id AND " if mine == IN_THIS_NAMESPACE else ""
    join = "" if plain else f"JOIN memories_memory m ON {same}m.id = v.memory_id"
    open_to = "v.active AND v.level = ANY(%(levels)s)" if plain else condition
    return f"""
        SELECT v.memory_id, 1 - (v.vector <=> %(vector)s::vector) AS score
        FROM memories_memoryvector v {join}
        WHERE v.embedder = %(embedder)s AND v.route = '{route}' AND {mine} {among} AND {open_to}
        ORDER BY {vector} <=> {wanted}{then} LIMIT %(pool)s
    """


VECTOR_QUERIES = {route: partial(semantic_query, route=route) for route in Route}
