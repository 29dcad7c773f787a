"""Over the graph: memories about what is joined to an entity of the query, up to three hops away."""

from functools import lru_cache, partial
from typing import Any

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.list_cache import cached_lists, deferred_list
from memories.retrieval.retrievers.retriever_context import (
    JOIN_MEMORY,
    JOIN_VECTOR,
    PendingQuery,
    RetrieverContext,
    RetrieverQuery,
    best_sql,
    top_with_ties_sql,
)

OVERREAD = 2  # so many times the list are read, as a memory may be reached in several ways
# An edge holds as long as the memory it was read from, and leads both ways. Each entity's edges are looked up by
# themselves: a join may be planned to read all edges of the namespace.
EDGES_FROM = """
    SELECT e.{there} AS entity_id, e.confidence FROM memories_entityedge e
    WHERE e.namespace_id = %(namespace)s AND e.{here} = h.entity_id AND e.created_at <= %(known_by)s
        AND {worthwhile} AND (e.memory_id IS NULL OR EXISTS (
            SELECT 1 FROM memories_memory m WHERE m.namespace_id = %(namespace)s AND m.id = e.memory_id AND {standing}
        ))
"""
# Whether the rest of a way can still lead to what comes into the list.
WORTHWHILE = "%(beyond_{hops})s * {end}.confidence >= (SELECT score FROM filled_{hops})"
# Whoever is about an entity, or else whoever mentions it.
ABOUT = """
    SELECT m.id FROM memories_memory m
    WHERE NOT way.mentioned AND m.namespace_id = %(namespace)s AND m.subject_id = way.entity_id AND {scope}
"""
MENTIONING = f"""
    SELECT m.id FROM (
        SELECT n.memory_id AS id FROM memories_mention n
        WHERE way.mentioned AND n.namespace_id = %(namespace)s AND n.entity_id = way.entity_id
    ) AS found {JOIN_MEMORY} WHERE m.subject_fallback IS NULL AND {{scope}}
"""
# Where time goes on, an edge of the future would be found once it is there, although nobody writes.
LIST = f"""
    {{with_paths}} SELECT m.id, m.score, v.vector FROM ({{filled}}) m {JOIN_VECTOR}
    UNION ALL SELECT NULL, NULL, NULL WHERE %(live)s AND EXISTS (
        SELECT 1 FROM memories_entityedge e WHERE e.namespace_id = %(namespace)s AND e.created_at > %(known_by)s
    )
    LIMIT %(most)s
"""


def traversal_query(asked: RetrieverContext) -> RetrieverQuery | PendingQuery | None:
    """The worth of the hops times the weakest edge on the way; the best way to each entity counts."""
    if not asked.parsed.entities:
        return None
    params, clock = asked.params, asked.namespace.clock
    worths = (params.hop_1, params.hop_2, params.hop_3)[: params.max_hops]
    entities = sorted(one.entity_id for one in asked.parsed.entities)
    values: dict[str, Any] = {
        "entities": entities,
        "known_by": asked.scope.values.get("as_of") or asked.namespace.now,
        "mention_weight": params.mention_weight,
        "several": OVERREAD * asked.depth,
        **{f"hop_{number}": worth for number, worth in enumerate(worths, start=1)},
        **{f"beyond_{number}": max(worths[number:]) for number in range(1, len(worths))},
    }
    best_of_them, all_of_them = traversal_sql(len(worths), asked.scope.condition, asked.scope.active)
    otherwise = partial(asked.query, best_of_them, generic_plan=True, **values)
    what = (*entities, worths, params.mention_weight, asked.depth, clock)
    lists = cached_lists(asked, {what: Statement(all_of_them, {**values, "live": clock is None})})
    if lists is None:
        return otherwise()
    return deferred_list(asked, lambda: (lists[what].ids, lists[what].scores, lists[what].cosines(asked)), otherwise)


@lru_cache(maxsize=256)  # to write it takes longer than to send it
def traversal_sql(last: int, condition: str, standing: str) -> tuple[str, str]:
    """The questions for the best memories along the paths, and for all that may be, with their vectors.

    Nobody goes on where whatever lies there comes behind what already fills the list.
    """
    hops = ", ".join(hop_sql(number, last, condition, standing) for number in range(1, last + 1))
    with_paths = f"""
        WITH hop_0 AS (SELECT entity_id, 1.0::float8 AS confidence FROM unnest(%(entities)s::uuid[]) AS t(entity_id)),
        {hops},
        first AS MATERIALIZED (
            {paths_sql(last, condition)} FETCH FIRST %(several)s ROWS WITH TIES
        ),
        enough AS MATERIALIZED (
            SELECT count(DISTINCT id) >= %(pool)s OR count(*) < %(several)s AS there FROM first
        )
    """
    listed = f"""
        SELECT id, max(score) AS score FROM first WHERE (SELECT there FROM enough) GROUP BY id
        UNION ALL
        SELECT id, max(score) FROM ({paths_sql(last, condition)}) AS every
        WHERE NOT (SELECT there FROM enough) GROUP BY id
    """
    return f"{with_paths} {best_sql(listed)}", LIST.format(with_paths=with_paths, filled=top_with_ties_sql(listed))


def hop_sql(number: int, last: int, condition: str, standing: str) -> str:
    """The entities one hop further, each over the way whose weakest edge is the strongest; and all until there."""
    before = number - 1
    edges, ends = (WORTHWHILE.format(hops=before, end=end) if before else "true" for end in ("e", "h"))
    leads = " UNION ALL ".join(
        EDGES_FROM.format(here=here, there=there, standing=standing, worthwhile=edges)
        for here, there in (("source_id", "target_id"), ("target_id", "source_id"))
    )
    ways = " UNION ALL ".join(
        f"SELECT entity_id, %(hop_{each})s * confidence AS score FROM hop_{each}" for each in range(1, number + 1)
    )
    entities = f"""
        hop_{number} AS MATERIALIZED (
            SELECT onward.entity_id, max(least(h.confidence, onward.confidence)) AS confidence
            FROM hop_{before} h CROSS JOIN LATERAL ({leads} OFFSET 0) AS onward
            WHERE {ends} GROUP BY onward.entity_id
        ),
        reached_{number} AS MATERIALIZED (
            SELECT entity_id, max(score) AS score FROM ({ways}) AS way
            WHERE entity_id <> ALL(%(entities)s::uuid[]) GROUP BY entity_id
        )
    """
    if number == last:
        return entities
    return f"""
        {entities},
        filled_{number} AS MATERIALIZED (
            SELECT coalesce((
                SELECT max(score) AS score FROM ({paths_sql(number, condition)} LIMIT %(several)s) AS best
                GROUP BY id ORDER BY score DESC OFFSET %(pool)s - 1 LIMIT 1
            ), 0) AS score
        )
    """


def paths_sql(number: int, condition: str) -> str:
    """Memories over each way to them that is worth something, the best way first."""
    about, mentioning = (one.format(scope=condition) for one in (ABOUT, MENTIONING))
    return f"""
        SELECT found.id, way.score FROM (
            SELECT entity_id, score * weight AS score, mentioned FROM reached_{number}
            CROSS JOIN (VALUES (1.0::float8, false), (%(mention_weight)s::float8, true)) AS each(weight, mentioned)
            WHERE score * weight > 0 ORDER BY 2 DESC
        ) AS way CROSS JOIN LATERAL ({about} UNION ALL {mentioning} OFFSET 0) AS found ORDER BY way.score DESC
    """
