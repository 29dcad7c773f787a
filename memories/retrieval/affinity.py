"""Personal affinity: entities and tags of the memories a user accesses most."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from memories.models.choices import Status
from memories.retrieval.candidate_rows import CandidateTables
from memories.retrieval.query import Query
from scoring.term import Array

USED = 500  # most accessed memories of a user

USES_THEN = """coalesce((
    SELECT sum(d.count) FROM memories_dailyaccess d
    WHERE d.namespace_id = m.namespace_id AND d.memory_id = m.id AND d.day <= %(now)s::date
), 0)"""
MOST_USED = f"""
    WITH used AS (
        SELECT m.id, {{uses}} AS access_count FROM memories_memory m
        WHERE m.namespace_id = %(namespace)s AND m."user" = %(user)s AND m.status = '{Status.ACTIVE}'
            AND m.access_count > 0
        ORDER BY 2 DESC, m.id LIMIT {USED}
    )
    SELECT name FROM (
        SELECT n.entity_id::text AS name, sum(used.access_count) AS uses
        FROM used JOIN memories_mention n ON n.namespace_id = %(namespace)s AND n.memory_id = used.id GROUP BY 1
        UNION ALL
        SELECT t.tag, sum(used.access_count)
        FROM used JOIN memories_memorytag t ON t.namespace_id = %(namespace)s AND t.memory_id = used.id GROUP BY 1
    ) AS cared_for WHERE uses > 0 ORDER BY uses DESC, name LIMIT {{most}}
"""


def affinity_statement(query: Query, params: Any) -> dict[str, str]:
    """The statement for a user's top entities and tags, if the system reads affinity."""
    if not query.user or not hasattr(params, "affinity_top"):
        return {}
    return {
        "used most": MOST_USED.format(uses=USES_THEN if query.as_of else "m.access_count", most=params.affinity_top)
    }


def affinity_shares(
    tables: CandidateTables,
    mentions: Sequence[tuple[UUID, UUID]],
    tags: Mapping[UUID, set[str]],
    most_used: Sequence[tuple[str]],
) -> Array:
    """The share of each candidate's entities and tags that are among the user's top ones."""
    share = np.zeros(len(tables))
    if not most_used:
        return share
    theirs = {name for (name,) in most_used}
    named: dict[UUID, set[str]] = {}
    for memory, entity in mentions:
        named.setdefault(memory, set()).add(str(entity))
    for place, id in enumerate(tables.ids):
        own = named.get(id, set()) | tags.get(id, set())
        share[place] = len(own & theirs) / len(own) if own else 0.0
    return share
