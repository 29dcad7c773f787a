"""Over the graph: memories about what is joined to an entity of the query, up to three hops away."""

from memories.retrieval.retrievers.question import EACH_MEMORY, Asked, Question, best

# An edge holds as long as the memory it was read from, and leads both ways.
EDGES = """
    SELECT e.source_id, e.target_id, e.confidence FROM memories_entityedge e
    LEFT JOIN memories_memory m ON m.namespace_id = e.namespace_id AND m.id = e.memory_id
    WHERE e.namespace_id = %(namespace)s AND e.created_at <= %(known_by)s AND (e.memory_id IS NULL OR {standing})
"""


def traversal(asked: Asked) -> Question | None:
    """The worth of the hops times the weakest edge on the way; the best way to each entity counts."""
    if not asked.reading.named:
        return None
    params = asked.params
    worths = [params.hop_1, params.hop_2, params.hop_3][: params.max_hops]
    hops = ", ".join(f"{hop(number)}" for number in range(1, len(worths) + 1))
    ways = " UNION ALL ".join(
        f"SELECT entity_id, %(hop_{number})s * confidence AS score FROM hop_{number}"
        for number in range(1, len(worths) + 1)
    )
    listed = f"""
        SELECT m.id, found.score FROM found {EACH_MEMORY}
        WHERE {asked.scope.condition} AND m.subject_fallback IS NULL AND found.score > 0
    """
    sql = f"""
        WITH edges AS MATERIALIZED ({EDGES.format(standing=asked.scope.standing)}),
        hop_0 AS (SELECT entity_id, 1.0::float8 AS confidence FROM unnest(%(entities)s::uuid[]) AS t(entity_id)),
        {hops},
        reached AS (
            SELECT entity_id, max(score) AS score FROM ({ways}) AS way
            WHERE entity_id <> ALL(%(entities)s::uuid[]) GROUP BY entity_id
        ),
        found AS (
            SELECT id, max(score) AS score FROM (
                SELECT m.id, reached.score FROM reached
                JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = reached.entity_id
                UNION ALL
                SELECT n.memory_id, reached.score * %(mention_weight)s FROM reached
                JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = reached.entity_id
            ) AS each_way GROUP BY id ORDER BY score DESC
        )
        {best(listed)}
    """
    return asked.question(
        sql,
        entities=[one.entity_id for one in asked.reading.named],
        known_by=asked.scope.values.get("as_of") or asked.namespace.now,
        mention_weight=params.mention_weight,
        **{f"hop_{number}": worth for number, worth in enumerate(worths, start=1)},
    )


def hop(number: int) -> str:
    """The entities one hop further, each over the way whose weakest edge is the strongest."""
    return f"""
        hop_{number} AS (
            SELECT entity_id, max(confidence) AS confidence FROM (
                SELECT e.target_id AS entity_id, least(h.confidence, e.confidence) AS confidence
                FROM hop_{number - 1} h JOIN edges e ON e.source_id = h.entity_id
                UNION ALL
                SELECT e.source_id, least(h.confidence, e.confidence)
                FROM hop_{number - 1} h JOIN edges e ON e.target_id = h.entity_id
            ) AS onward GROUP BY entity_id
        )
    """
