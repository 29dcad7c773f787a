"""Entity graph: memories whose subject, speaker or mention is an entity of the query."""

from typing import Any

from memories.db.pipeline import Statement
from memories.retrieval.retrievers.context import (
    CERTAIN,
    DISTANCE,
    JOIN_CERTAIN_MEMORY,
    JOIN_VECTOR,
    RetrieverContext,
)

NAMED = """
    named AS (SELECT * FROM unnest(%(entities)s::uuid[], %(confidences)s::float8[]) AS t(entity_id, confidence)),
    speakers AS MATERIALIZED (
        SELECT named.confidence, names.name FROM named CROSS JOIN LATERAL (
            SELECT e.name FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = named.entity_id
            UNION
            SELECT a.name FROM memories_entityalias a
            WHERE a.namespace_id = %(namespace)s AND a.entity_id = named.entity_id
        ) AS names
    )
"""
# What an entity is the subject of, is mentioned in, and has said: the latest of each.
LATEST = """
    SELECT found.id, named.confidence AS score FROM named CROSS JOIN LATERAL (
        SELECT m.id FROM memories_memory m
        WHERE m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id {in_scope}
        ORDER BY m.id DESC LIMIT %(compared)s
    ) AS found
    UNION ALL
    SELECT found.id, named.confidence * %(mention_weight)s FROM named CROSS JOIN LATERAL (
        SELECT n.memory_id AS id FROM memories_mention n {join_memory}
        WHERE n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id {in_scope}
        ORDER BY n.memory_id DESC LIMIT %(compared)s
    ) AS found
    UNION ALL
    SELECT found.id, speakers.confidence FROM speakers CROSS JOIN LATERAL (
        SELECT m.id FROM memories_turn t
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.turn_id = t.id
        WHERE t.namespace_id = %(namespace)s AND t.speaker = speakers.name {in_scope}
        ORDER BY t.id DESC LIMIT %(compared)s
    ) AS found
"""
# The same among given memories, by the entity first: its mentions lie together in the index.
AMONG_GIVEN = """
    SELECT found.id, named.confidence AS score FROM named CROSS JOIN LATERAL (
        SELECT m.id FROM memories_memory m
        WHERE m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id AND m.id = ANY(%(ids)s::uuid[]) OFFSET 0
    ) AS found
    UNION ALL
    SELECT found.id, named.confidence * %(mention_weight)s FROM named CROSS JOIN LATERAL (
        SELECT n.memory_id AS id FROM memories_mention n
        WHERE n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id AND n.memory_id = ANY(%(ids)s::uuid[])
        OFFSET 0
    ) AS found
    UNION ALL
    SELECT m.id, speakers.confidence FROM memories_memory m CROSS JOIN LATERAL (
        SELECT t.speaker FROM memories_turn t WHERE t.namespace_id = %(namespace)s AND t.id = m.turn_id OFFSET 0
    ) AS turn
    JOIN speakers ON speakers.name = turn.speaker
    WHERE m.namespace_id = %(namespace)s AND m.id = ANY(%(ids)s::uuid[]) AND EXISTS (
        SELECT FROM speakers s CROSS JOIN LATERAL (
            SELECT FROM memories_turn t WHERE t.namespace_id = %(namespace)s AND t.speaker = s.name LIMIT 1
        ) AS turn
    )
"""


def sql(context: RetrieverContext) -> Statement | None:
    """Scored by the confidence of the entity match, lower for a mere mention; a memory's best match counts.

    Of an entity with many memories the latest are compared.
    """
    if not context.parsed.entities:
        return None
    statement = f"""
        WITH {NAMED},
        compared AS MATERIALIZED (
            SELECT id, max(score) AS score FROM ({latest_sql(context)}) AS latest
            GROUP BY id HAVING max(score) > 0 ORDER BY 2 DESC, id DESC LIMIT %(compared)s
        ),
        nearest AS (
            SELECT m.id, m.score, {DISTANCE} AS distance FROM compared m {JOIN_VECTOR}
            ORDER BY m.score DESC, distance, m.id
        )
        SELECT m.id, found.score FROM nearest found {JOIN_CERTAIN_MEMORY} WHERE {context.scope.condition}
        ORDER BY found.score DESC, found.distance, found.id LIMIT %(depth)s
    """
    return context.statement(statement, **entity_values(context))


def scores_of(context: RetrieverContext, ids: str) -> Statement | None:
    """The scores of memories that other retrievers found, if an entity has more memories than are compared."""
    if not context.parsed.entities or context.max_compared is None:
        return None
    statement = f"""
        WITH {NAMED},
        found AS MATERIALIZED (
            SELECT id, max(score) AS score FROM ({AMONG_GIVEN}) AS given
            WHERE (SELECT count(*) FROM ({latest_sql(context)}) AS latest) >= %(compared)s
            GROUP BY id HAVING max(score) > 0
        )
        SELECT found.id, found.score FROM found {JOIN_CERTAIN_MEMORY} WHERE {context.scope.condition}
    """
    return context.statement(statement, **entity_values(context), ids=ids)


def latest_sql(context: RetrieverContext) -> str:
    """The latest memories of each entity with their scores; without filters, also some out of scope."""
    if context.scope.plain:
        return LATEST.format(in_scope="", join_memory="")
    return LATEST.format(
        in_scope=f"AND {CERTAIN} AND {context.scope.condition}",
        join_memory="JOIN memories_memory m ON m.namespace_id = n.namespace_id AND m.id = n.memory_id",
    )


def entity_values(context: RetrieverContext) -> dict[str, Any]:
    """The entities of the query, what a mention counts, and how many memories are compared."""
    matches = context.parsed.entities
    return {
        "entities": [match.entity_id for match in matches],
        "confidences": [match.confidence for match in matches],
        "mention_weight": context.params.mention_weight,
        "compared": context.max_compared,
    }
