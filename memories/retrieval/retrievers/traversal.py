"""Over the graph: memories about what is joined to an entity of the query, up to three hops away."""

from typing import Any

from memories.retrieval.retrievers.question import EACH_MEMORY, Asked, Question, best

SEVERAL = 4  # so many times the list are read, as a memory may be reached in several ways
# An edge holds as long as the memory it was read from, and leads both ways. Each entity's edges are looked up by
# themselves: a join may be planned to read all edges of the namespace.
LEADS = """
    SELECT e.{there} AS entity_id, e.confidence FROM memories_entityedge e
    WHERE e.namespace_id = %(namespace)s AND e.{here} = h.entity_id AND e.created_at <= %(known_by)s
        AND (e.memory_id IS NULL OR EXISTS (
            SELECT 1 FROM memories_memory m WHERE m.namespace_id = %(namespace)s AND m.id = e.memory_id AND {standing}
        ))
"""
# Whoever is about an entity, or else whoever mentions it.
ABOUT = """
    SELECT m.id FROM memories_memory m
    WHERE NOT way.mentioned AND m.namespace_id = %(namespace)s AND m.subject_id = way.entity_id AND {scope}
"""
MENTIONING = f"""
    SELECT m.id FROM (
        SELECT n.memory_id AS id FROM memories_mention n
        WHERE way.mentioned AND n.namespace_id = %(namespace)s AND n.entity_id = way.entity_id
    ) AS found {EACH_MEMORY} WHERE m.subject_fallback IS NULL AND {{scope}}
"""


def traversal(asked: Asked) -> Question | None:
    """The worth of the hops times the weakest edge on the way; the best way to each entity counts.

    Nobody goes a hop further where enough was found that is better than whatever lies there.
    """
    if not asked.reading.named:
        return None
    params = asked.params
    worths = [params.hop_1, params.hop_2, params.hop_3][: params.max_hops]
    last = len(worths)
    hops = ", ".join(hop(asked, number, last) for number in range(1, last + 1))
    listed = f"""
        SELECT id, max(score) AS score FROM first WHERE (SELECT there FROM enough) GROUP BY id
        UNION ALL
        SELECT id, max(score) FROM ({each_way(asked, last)}) AS every WHERE NOT (SELECT there FROM enough) GROUP BY id
    """
    sql = f"""
        WITH hop_0 AS (SELECT entity_id, 1.0::float8 AS confidence FROM unnest(%(entities)s::uuid[]) AS t(entity_id)),
        {hops},
        first AS MATERIALIZED (
            {each_way(asked, last)} ORDER BY way.score DESC FETCH FIRST %(several)s ROWS WITH TIES
        ),
        enough AS MATERIALIZED (
            SELECT count(DISTINCT id) >= %(pool)s OR count(*) < %(several)s AS there FROM first
        )
        {best(listed)}
    """
    numbered: dict[str, Any] = {f"hop_{number}": worth for number, worth in enumerate(worths, start=1)}
    numbered |= {f"beyond_{number}": max(worths[number:]) for number in range(1, last)}
    return asked.question(
        sql,
        planned_once=True,
        entities=[one.entity_id for one in asked.reading.named],
        known_by=asked.scope.values.get("as_of") or asked.namespace.now,
        mention_weight=params.mention_weight,
        several=SEVERAL * asked.pool,
        **numbered,
    )


def hop(asked: Asked, number: int, last: int) -> str:
    """The entities one hop further, each over the way whose weakest edge is the strongest; and all until there."""
    ends = (("source_id", "target_id"), ("target_id", "source_id"))
    leads = " UNION ALL ".join(
        LEADS.format(here=here, there=there, standing=asked.scope.standing) for here, there in ends
    )
    needed = f"WHERE NOT (SELECT there FROM enough_{number - 1})" if number > 1 else ""
    ways = " UNION ALL ".join(
        f"SELECT entity_id, %(hop_{each})s * confidence AS score FROM hop_{each}" for each in range(1, number + 1)
    )
    entities = f"""
        hop_{number} AS MATERIALIZED (
            SELECT onward.entity_id, max(least(h.confidence, onward.confidence)) AS confidence
            FROM hop_{number - 1} h CROSS JOIN LATERAL ({leads} OFFSET 0) AS onward {needed}
            GROUP BY onward.entity_id
        ),
        reached_{number} AS MATERIALIZED (
            SELECT entity_id, max(score) AS score FROM ({ways}) AS way
            WHERE entity_id <> ALL(%(entities)s::uuid[]) GROUP BY entity_id
        )
    """
    if number == last:
        return entities
    beyond = f"(SELECT %(beyond_{number})s * max(confidence) FROM hop_{number})"
    return f"""
        {entities},
        enough_{number} AS MATERIALIZED (
            SELECT count(DISTINCT id) >= %(pool)s AS there FROM (
                {each_way(asked, number, beyond)} LIMIT %(several)s
            ) AS better
        )
    """


def each_way(asked: Asked, number: int, above: str = "0") -> str:
    """Memories over each way to them that is worth more than something, the best way first."""
    about, mentioning = (one.format(scope=asked.scope.condition) for one in (ABOUT, MENTIONING))
    return f"""
        SELECT found.id, way.score FROM (
            SELECT entity_id, score * weight AS score, mentioned FROM reached_{number}
            CROSS JOIN (VALUES (1.0::float8, false), (%(mention_weight)s::float8, true)) AS each(weight, mentioned)
            WHERE score * weight > {above} ORDER BY 2 DESC
        ) AS way CROSS JOIN LATERAL ({about} UNION ALL {mentioning} OFFSET 0) AS found
    """
