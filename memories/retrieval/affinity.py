"""Personal affinity: entities and tags of the memories a user accesses most."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from memories.models.choices import Status
from memories.retrieval.candidate_rows import CandidateTables
from memories.retrieval.query import Query
from scoring.term import Array

MAX_ACCESSED = 500  # most accessed memories of a user

ACCESSES_AS_OF = """coalesce((
    SELECT sum(d.count) FROM memories_dailyaccess d
    WHERE d.namespace_id = m.namespace_id AND d.memory_id = m.id AND d.day <= %(now)s::date
), 0)"""
TOP_ENTITIES_AND_TAGS = f"""
    WITH accessed AS (
        SELECT m.id, {{accesses}} AS access_count FROM memories_memory m
        WHERE m.namespace_id = %(namespace)s AND m."user" = %(user)s AND m.status = '{Status.ACTIVE}'
            AND m.access_count > 0
        ORDER BY 2 DESC, m.id LIMIT {MAX_ACCESSED}
    )
    SELECT name FROM (
        SELECT n.entity_id::text AS name, sum(accessed.access_count) AS accesses
        FROM accessed JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.memory_id = accessed.id
        GROUP BY 1
        UNION ALL
        SELECT t.tag, sum(accessed.access_count)
        FROM accessed JOIN memories_memorytag t ON t.namespace_id = %(namespace)s AND t.memory_id = accessed.id
        GROUP BY 1
    ) AS names WHERE accesses > 0 ORDER BY accesses DESC, name LIMIT {{top}}
"""


def affinity_statement(query: Query, params: Any) -> dict[str, str]:
    """The statement for a user's top entities and tags, if the system reads affinity."""
    if not query.user or not hasattr(params, "affinity_top"):
        return {}
    return {
        "affinity": TOP_ENTITIES_AND_TAGS.format(
            accesses=ACCESSES_AS_OF if query.as_of else "m.access_count", top=params.affinity_top
        )
    }


def affinity_shares(
    tables: CandidateTables,
    mentions: Sequence[tuple[UUID, UUID]],
    tags: Mapping[UUID, set[str]],
    top_names: Sequence[tuple[str]],
) -> Array:
    """The share of each candidate's entities and tags that are among the user's top ones."""
    share = np.zeros(len(tables))
    if not top_names:
        return share
    top = {name for (name,) in top_names}
    entities: dict[UUID, set[str]] = {}
    for memory, entity in mentions:
        entities.setdefault(memory, set()).add(str(entity))
    for row, id in enumerate(tables.ids):
        names = entities.get(id, set()) | tags.get(id, set())
        share[row] = len(names & top) / len(names) if names else 0.0
    return share
