"""Entity graph: memories whose subject, speaker or mention is an entity of the query."""

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.context import DISTANCE, JOIN_CERTAIN_MEMORY, JOIN_VECTOR, RetrieverContext

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
    # Hundreds may tie: memories are looked up nearest first, until the list is full.
    statement = f"""
        WITH {ENTITY_MEMORIES},
        best AS (SELECT id, max(score) AS score FROM entity_memories GROUP BY id),
        nearest AS (
            SELECT m.id, m.score, {DISTANCE} AS distance FROM best m {JOIN_VECTOR} WHERE m.score > 0
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
    )
