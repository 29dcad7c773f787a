"""By whom a memory is about: those whose subject the query names, and those that mention it."""

from memories.retrieval.retrievers.question import BY_MEANING, EACH_MEMORY, NEAREST, SETTLED, Asked, Question


def entity(asked: Asked) -> Question | None:
    """The match of the name, whole for a subject, less for a mention; a memory's best one counts."""
    if not asked.reading.named:
        return None
    sql = f"""
        WITH named AS (
            SELECT * FROM unnest(%(entities)s::uuid[], %(matches)s::float8[]) AS t(entity_id, match)
        ),
        found AS (
            SELECT id, max(score) AS score FROM (
                SELECT m.id, named.match AS score FROM named
                JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id
                UNION ALL
                SELECT n.memory_id, named.match * %(mention_weight)s FROM named
                JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id
            ) AS each_way GROUP BY id
        )
        SELECT m.id, found.score
        FROM found {EACH_MEMORY} {BY_MEANING}
        WHERE {asked.scope.condition} AND {SETTLED} AND found.score > 0
        ORDER BY found.score DESC, {NEAREST} LIMIT %(pool)s
    """
    named = {one.entity_id: one.confidence for one in asked.reading.named}
    return asked.question(
        sql, entities=list(named), matches=list(named.values()), mention_weight=asked.params.mention_weight
    )
