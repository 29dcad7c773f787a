"""Entity graph: memories whose subject, speaker or mention is an entity of the query."""

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.context import (
    DISTANCE,
    JOIN_CERTAIN_MEMORY,
    JOIN_VECTOR,
    MAX_COMPARED,
    RetrieverContext,
)
from memories.retrieval.retrievers.semantic import hnsw_sql

ENTITY_MEMORIES = """
    named AS (SELECT * FROM unnest(%(entities)s::uuid[], %(confidences)s::float8[]) AS t(entity_id, confidence)),
    speakers AS (
        SELECT named.confidence, names.name FROM named CROSS JOIN LATERAL (
            SELECT e.name FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = named.entity_id
            UNION
            SELECT a.name FROM memories_entityalias a
            WHERE a.namespace_id = %(namespace)s AND a.entity_id = named.entity_id
        ) AS names
    ),
    entity_memories AS (
        SELECT m.id, named.confidence AS score FROM named
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id
        UNION ALL
        SELECT n.memory_id, named.confidence * %(mention_weight)s FROM named
        JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id
        UNION ALL
        SELECT m.id, speakers.confidence FROM speakers
        JOIN memories_turn t ON t.namespace_id = %(namespace)s AND t.speaker = speakers.name
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.turn_id = t.id
    )
"""


def sql(context: RetrieverContext) -> Statement | None:
    """Scored by the confidence of the entity match, lower for a mere mention; a memory's best match counts."""
    entities = context.parsed.entities
    if not entities:
        return None
    statement = f"""
        WITH {ENTITY_MEMORIES},
        best AS MATERIALIZED (SELECT id, max(score) AS score FROM entity_memories GROUP BY id HAVING max(score) > 0),
        latest AS MATERIALIZED ({latest_with_entity(context)}),
        compared AS (SELECT * FROM latest {nearest_with_entity(context) if context.indexed else ""}),
        nearest AS (
            SELECT m.id, m.score, {DISTANCE} AS distance FROM compared m {JOIN_VECTOR}
            ORDER BY m.score DESC, distance, m.id
        )
        SELECT m.id, found.score FROM nearest found {JOIN_CERTAIN_MEMORY} WHERE {context.scope.condition}
        ORDER BY found.score DESC, found.distance, found.id LIMIT %(depth)s
    """
    return context.statement(
        statement,
        entities=[match.entity_id for match in entities],
        confidences=[match.confidence for match in entities],
        mention_weight=context.params.mention_weight,
        compared=max(MAX_COMPARED, context.depth) if context.indexed else None,
    )


def latest_with_entity(context: RetrieverContext) -> str:
    """The best memories of the entities that are compared by cosine: of those that score alike, the latest."""
    order = "found.score DESC, found.id DESC LIMIT %(compared)s"
    if context.scope.plain:
        return f"SELECT found.id, found.score FROM best found ORDER BY {order}"
    return f"""
        SELECT m.id, found.score FROM (SELECT * FROM best ORDER BY score DESC, id DESC) AS found
        {JOIN_CERTAIN_MEMORY} WHERE {context.scope.condition} ORDER BY {order}
    """


def nearest_with_entity(context: RetrieverContext) -> str:
    """If not all memories of the entities are compared: those among the nearest of the namespace."""
    nearest = hnsw_sql(context, context.scope.condition, plain=context.scope.plain)
    return f"""
        UNION ALL
        SELECT best.id, best.score FROM ({nearest}) AS found JOIN best ON best.id = found.memory_id
        WHERE (SELECT count(*) FROM best) > %(compared)s AND best.id NOT IN (SELECT id FROM latest)
    """
