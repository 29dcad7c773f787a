"""Graph traversal: memories about entities that edges connect to an entity of the query, up to three hops away."""

from functools import lru_cache
from typing import Any

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.context import JOIN_MEMORY, RetrieverContext, top_sql

OVERREAD = 2  # paths read per memory of the list, as several may lead to the same one
# An edge is valid as long as the memory it was extracted from, and leads both ways. One index lookup per entity: a
# join may be planned to read all edges of the namespace.
EDGES_FROM = """
    SELECT e.{end} AS entity_id, e.confidence FROM memories_entityedge e
    WHERE e.namespace_id = %(namespace)s AND e.{start} = h.entity_id AND e.created_at <= %(known_by)s
        AND {worthwhile} AND (e.memory_id IS NULL OR EXISTS (
            SELECT 1 FROM memories_memory m WHERE m.namespace_id = %(namespace)s AND m.id = e.memory_id AND {active}
        ))
"""
# Whether a longer path can still enter the list.
WORTHWHILE = "%(beyond_{hops})s * {end}.confidence >= (SELECT score FROM filled_{hops})"
ABOUT = """
    SELECT m.id FROM memories_memory m
    WHERE NOT path.mentioned AND m.namespace_id = %(namespace)s AND m.subject_id = path.entity_id AND {scope}
"""
MENTIONING = f"""
    SELECT m.id FROM (
        SELECT n.memory_id AS id FROM memories_mention n
        WHERE path.mentioned AND n.namespace_id = %(namespace)s AND n.entity_id = path.entity_id
    ) AS found {JOIN_MEMORY} WHERE m.subject_fallback IS NULL AND {{scope}}
"""


def sql(context: RetrieverContext) -> Statement | None:
    """Scored by hop weight times the weakest edge of the path; the best path to each entity counts."""
    if not context.parsed.entities:
        return None
    params = context.params
    hops = (params.hop_1, params.hop_2, params.hop_3)[: params.max_hops]
    values: dict[str, Any] = {
        "entities": sorted(match.entity_id for match in context.parsed.entities),
        "known_by": context.scope.values.get("as_of") or context.namespace.now,
        "mention_weight": params.mention_weight,
        "overread": OVERREAD * context.depth,
        **{f"hop_{number}": weight for number, weight in enumerate(hops, start=1)},
        **{f"beyond_{number}": max(hops[number:]) for number in range(1, len(hops))},
    }
    return context.statement(traversal_sql(len(hops), context.scope.condition, context.scope.active), **values)


@lru_cache(maxsize=256)
def traversal_sql(hops: int, condition: str, active: str) -> str:
    """The top memories along all paths; a path is pruned if nothing beyond it can enter a list that is already full."""
    best_paths = f"""
        SELECT id, max(score) AS score FROM first WHERE (SELECT there FROM enough) GROUP BY id
        UNION ALL
        SELECT id, max(score) FROM ({paths_sql(hops, condition)}) AS every
        WHERE NOT (SELECT there FROM enough) GROUP BY id
    """
    return f"""
        WITH hop_0 AS (SELECT entity_id, 1.0::float8 AS confidence FROM unnest(%(entities)s::uuid[]) AS t(entity_id)),
        {", ".join(hop_ctes(number, hops, condition, active) for number in range(1, hops + 1))},
        first AS MATERIALIZED (
            {paths_sql(hops, condition)} FETCH FIRST %(overread)s ROWS WITH TIES
        ),
        enough AS MATERIALIZED (
            SELECT count(DISTINCT id) >= %(depth)s OR count(*) < %(overread)s AS there FROM first
        )
        {top_sql(best_paths)}
    """


def hop_ctes(number: int, last: int, condition: str, active: str) -> str:
    """CTEs of a hop: the entities it reaches, all reached so far, and the score at the end of a full list."""
    before = number - 1
    edge_worthwhile, path_worthwhile = (
        WORTHWHILE.format(hops=before, end=end) if before else "true" for end in ("e", "h")
    )
    edges = " UNION ALL ".join(
        EDGES_FROM.format(start=start, end=end, active=active, worthwhile=edge_worthwhile)
        for start, end in (("source_id", "target_id"), ("target_id", "source_id"))
    )
    paths = " UNION ALL ".join(
        f"SELECT entity_id, %(hop_{hop})s * confidence AS score FROM hop_{hop}" for hop in range(1, number + 1)
    )
    ctes = f"""
        hop_{number} AS MATERIALIZED (
            SELECT onward.entity_id, max(least(h.confidence, onward.confidence)) AS confidence
            FROM hop_{before} h CROSS JOIN LATERAL ({edges} OFFSET 0) AS onward
            WHERE {path_worthwhile} GROUP BY onward.entity_id
        ),
        reached_{number} AS MATERIALIZED (
            SELECT entity_id, max(score) AS score FROM ({paths}) AS path
            WHERE entity_id <> ALL(%(entities)s::uuid[]) GROUP BY entity_id
        )
    """
    if number == last:
        return ctes
    return f"""
        {ctes},
        filled_{number} AS MATERIALIZED (
            SELECT coalesce((
                SELECT max(score) AS score FROM ({paths_sql(number, condition)} LIMIT %(overread)s) AS best
                GROUP BY id ORDER BY score DESC OFFSET %(depth)s - 1 LIMIT 1
            ), 0) AS score
        )
    """


def paths_sql(number: int, condition: str) -> str:
    """Memories about or mentioning the entities reached up to a hop, best path first."""
    about, mentioning = (fragment.format(scope=condition) for fragment in (ABOUT, MENTIONING))
    return f"""
        SELECT found.id, path.score FROM (
            SELECT entity_id, score * weight AS score, mentioned FROM reached_{number}
            CROSS JOIN (VALUES (1.0::float8, false), (%(mention_weight)s::float8, true)) AS relation(weight, mentioned)
            WHERE score * weight > 0 ORDER BY 2 DESC
        ) AS path CROSS JOIN LATERAL ({about} UNION ALL {mentioning} OFFSET 0) AS found ORDER BY path.score DESC
    """
