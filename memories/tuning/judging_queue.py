"""The judging queue: pooled query-memory pairs without a grade."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.models import Namespace
from memories.models.choices import Status
from memories.tuning.current_grades import RESOLVED_JUDGEMENTS, fetch_judgement_rows

# Found by most configurations first, then by best rank; ids break ties.
UNJUDGED_PAIRS_SQL = f"""
    WITH RECURSIVE {RESOLVED_JUDGEMENTS}
    SELECT p.id, p.query_id, p.memory_id, p.ranks, p.found_by, p.best, count(*) OVER () AS left
    FROM memories_judgedquery q
    JOIN memories_pooledmemory p ON p.namespace_id = q.namespace_id AND p.query_id = q.id
    JOIN memories_memory m ON m.namespace_id = p.namespace_id AND m.id = p.memory_id
    WHERE q.namespace_id = %(namespace)s AND p.namespace_id = %(namespace)s AND m.namespace_id = %(namespace)s
        AND q.judgement_set_id = ANY(%(sets)s) AND m.status = %(active)s
        AND NOT EXISTS (SELECT FROM resolved s WHERE s.query_id = p.query_id AND s.current_id = p.memory_id)
    ORDER BY p.id = ANY(%(skipped)s), p.found_by DESC, p.best, p.query_id, p.memory_id
    LIMIT %(most)s
"""


@dataclass(frozen=True)
class UnjudgedPair:
    """A query and an ungraded memory."""

    id: UUID
    query_id: UUID
    memory_id: UUID
    ranks: dict[str, int]
    found_by: int
    best: int
    left: int  # pairs to judge, this one included


def unjudged_pairs(namespace: Namespace, set_id: UUID, limit: int, skipped: Sequence[UUID] = ()) -> list[UnjudgedPair]:
    """The next pairs to judge; skipped ones come last."""
    values: dict[str, Any] = {"active": Status.ACTIVE, "most": limit, "skipped": list(skipped)}
    rows = fetch_judgement_rows(UNJUDGED_PAIRS_SQL, namespace, [set_id], **values)
    return [UnjudgedPair(id, query, memory, json.loads(ranks), *more) for id, query, memory, ranks, *more in rows]
