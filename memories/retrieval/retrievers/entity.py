"""By whom a memory is about: those whose subject the query names, those that it said, and those that mention it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from uuid import UUID

import numpy as np

from memories.db.id_arrays import Ids, unite_ids
from memories.db.pipeline import Statement
from memories.retrieval.retrievers.list_cache import CachedList, cached_lists, deferred_list
from memories.retrieval.retrievers.retriever_context import (
    DISTANCE,
    JOIN_CERTAIN_MEMORY,
    JOIN_VECTOR,
    PendingQuery,
    RetrieverContext,
    RetrieverQuery,
)
from scoring.term import Array

# Those whose subject a name is, those that it said, and those that mention it.
EACH_WAY = """
    named AS (SELECT * FROM unnest(%(entities)s::uuid[], %(matches)s::float8[]) AS t(entity_id, match)),
    said AS (
        SELECT named.match, names.name FROM named CROSS JOIN LATERAL (
            SELECT e.name FROM memories_entity e WHERE e.namespace_id = %(namespace)s AND e.id = named.entity_id
            UNION
            SELECT a.name FROM memories_entityalias a
            WHERE a.namespace_id = %(namespace)s AND a.entity_id = named.entity_id
        ) AS names
    ),
    each_way AS (
        SELECT m.id, named.match, false AS mentioned FROM named
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.subject_id = named.entity_id
        UNION ALL
        SELECT n.memory_id, named.match, true FROM named
        JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.entity_id = named.entity_id
        UNION ALL
        SELECT m.id, said.match, false FROM said
        JOIN memories_turn t ON t.namespace_id = %(namespace)s AND t.speaker = said.name
        JOIN memories_memory m ON m.namespace_id = %(namespace)s AND m.turn_id = t.id
    )
"""
# Of one name, and whether it is only mentioned.
LIST = f"""
    WITH {EACH_WAY} SELECT m.id, found.mentioned::int::float8, v.vector FROM (
        SELECT id, bool_and(mentioned) AS mentioned FROM each_way GROUP BY id
    ) AS found {JOIN_CERTAIN_MEMORY} {JOIN_VECTOR} WHERE {{scope}} LIMIT %(most)s
"""


def entity_query(asked: RetrieverContext) -> RetrieverQuery | PendingQuery | None:
    """The match of the name, whole for a subject or speaker, less for a mention; a memory's best one counts."""
    if not asked.parsed.entities:
        return None
    sql = LIST.format(scope=asked.scope.condition)
    lists = cached_lists(
        asked, {id: Statement(sql, {"entities": [id], "matches": [1.0]}) for id in entity_confidences(asked)}
    )
    otherwise = partial(entity_by_sql, asked)
    return otherwise() if lists is None else deferred_list(asked, partial(best_entity_match, asked, lists), otherwise)


def entity_by_sql(asked: RetrieverContext) -> RetrieverQuery:
    """The question whose list the database makes."""
    # Hundreds may be equally good, and few are wanted: rows are looked up the nearest first, until there are enough.
    sql = f"""
        WITH {EACH_WAY},
        found AS (
            SELECT id, max(match * CASE WHEN mentioned THEN %(mention_weight)s ELSE 1 END) AS score
            FROM each_way GROUP BY id
        ),
        nearest AS (
            SELECT m.id, m.score, {DISTANCE} AS away FROM found m {JOIN_VECTOR} WHERE m.score > 0
            ORDER BY m.score DESC, away, m.id
        )
        SELECT m.id, found.score, coalesce(1 - found.away, 0)
        FROM nearest found {JOIN_CERTAIN_MEMORY} WHERE {asked.scope.condition}
        ORDER BY found.score DESC, found.away, found.id LIMIT %(pool)s
    """
    named = entity_confidences(asked)
    question = asked.query(
        sql, entities=list(named), matches=list(named.values()), mention_weight=asked.params.mention_weight
    )
    return replace(question, columns=("id", "score", "cosine"))


def entity_confidences(asked: RetrieverContext) -> dict[UUID, float]:
    """How well each entity matches what the query names."""
    return {one.entity_id: one.confidence for one in asked.parsed.entities}


def best_entity_match(asked: RetrieverContext, lists: Mapping[UUID, CachedList]) -> tuple[Ids, Array, Array]:
    """What the names find, each by its best name, and how near it is."""
    each = [(lists[entity], match) for entity, match in entity_confidences(asked).items()]
    weight = asked.params.mention_weight
    several = [found.ids for found, _ in each]
    ids, places = unite_ids(several) if len(each) > 1 else (several[0], [np.arange(len(several[0]))])
    scores, near = np.zeros(len(ids)), np.full(len(ids), -np.inf)
    for (found, match), where in zip(each, places, strict=True):
        scores[where] = np.maximum(scores[where], np.where(found.scores > 0, match * weight, match))
        near[where] = found.cosines(asked)
    return ids, scores, near
