"""By whom a memory is about: those whose subject the query names, those that it said, and those that mention it."""

from dataclasses import replace

from memories.retrieval.retrievers.question import AWAY, BY_MEANING, EACH_SETTLED, Asked, Question


def entity(asked: Asked) -> Question | None:
    """The match of the name, whole for a subject or speaker, less for a mention; a memory's best one counts."""
    if not asked.reading.named:
        return None
    # Hundreds may be equally good, and few are wanted: rows are looked up the nearest first, until there are enough.
    sql = f"""
        WITH named AS (
            SELECT * FROM unnest(%(entities)s::uuid[], %(matches)s::float8[]) AS t(entity_id, match)
        ),
        said AS (
            SELECT named.match, names.name FROM named CROSS JOIN LATERAL (
                SELECT e.name FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = named.entity_id
                UNION
                SELECT a.name FROM memories_entityalias a
                WHERE a.namespace_id = %(namespace)s AND a.entity_id = named.entity_id
            ) AS names
        ),
        found AS (
            SELECT id, max(score) AS score FROM (
                SELECT m.id, named.match AS score FROM named
                JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id
                UNION ALL
                SELECT n.memory_id, named.match * %(mention_weight)s FROM named
                JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id
                UNION ALL
                SELECT m.id, said.match FROM said
                JOIN memories_turn t ON t.namespace_id = %(namespace)s AND t.speaker = said.name
                JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.turn_id = t.id
            ) AS each_way GROUP BY id
        ),
        nearest AS (
            SELECT m.id, m.score, {AWAY} AS away FROM found m {BY_MEANING} WHERE m.score > 0
            ORDER BY m.score DESC, away, m.id
        )
        SELECT m.id, found.score, coalesce(1 - found.away, 0)
        FROM nearest found {EACH_SETTLED} WHERE {asked.scope.condition}
        ORDER BY found.score DESC, found.away, found.id LIMIT %(pool)s
    """
    named = {one.entity_id: one.confidence for one in asked.reading.named}
    question = asked.question(
        sql, entities=list(named), matches=list(named.values()), mention_weight=asked.params.mention_weight
    )
    return replace(question, gives=("id", "score", "cosine"))
