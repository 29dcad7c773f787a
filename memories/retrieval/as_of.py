"""Status and values of memories as of a past time, from their events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.db.pipeline import Statement, fetch_pipeline
from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import EdgeKind, Status

# Memories whose status changed since, with the status then: after the last event until then, else after the first.
STATUS_AS_OF = f"""
    SELECT m.id, m.status, coalesce(
        (SELECT e.after->>'status' FROM memories_scoreevent e
         WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id AND e.at <= %(as_of)s AND e.after ? 'status'
         ORDER BY e.at DESC, e.id DESC LIMIT 1),
        (SELECT e.after->>'status' FROM memories_scoreevent e
         WHERE e.namespace_id = m.namespace_id AND e.memory_id = m.id AND e.after ? 'status'
         ORDER BY e.at, e.id LIMIT 1)
    ) AS status_then
    FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s AND m.created_at <= %(as_of)s AND m.status <> '{Status.FORGOTTEN}'
        AND m.id IN (
            SELECT e.memory_id FROM memories_scoreevent e
            WHERE e.namespace_id = %(namespace)s AND e.at > %(as_of)s AND e.after ? 'status'
        )
"""

DATES = ("event_at", "event_until", "valid_from", "valid_until")
OTHER_COLUMNS = [field.column for field in Memory._meta.concrete_fields if field.column not in DATES]
# The memories with their dates then: those before the first change since.
DATED_AS_OF = f"""(
    SELECT {", ".join(f'm."{name}"' for name in OTHER_COLUMNS)}, {
    ", ".join(
        f"CASE WHEN changed.dates ? '{name}' THEN (changed.dates->>'{name}')::timestamptz ELSE m.{name} END AS {name}"
        for name in DATES
    )
}
    FROM memories_memory m LEFT JOIN (
        SELECT memory_id, jsonb_object_agg(name, value) AS dates FROM (
            SELECT DISTINCT ON (e.memory_id, date.name) e.memory_id, date.name, e.before->>date.name AS value
            FROM memories_scoreevent e CROSS JOIN unnest(ARRAY{list(DATES)}) AS date(name)
            WHERE e.namespace_id = %(namespace)s AND e.at > %(as_of)s AND e.before ? date.name
            ORDER BY e.memory_id, date.name, e.at, e.id
        ) AS first GROUP BY memory_id
    ) AS changed ON changed.memory_id = m.id
    WHERE m.namespace_id = %(namespace)s
)"""

# The edges between memories then: today's, and contradictions withdrawn since, by the first change of a pair.
EDGES_AS_OF = f"""(
    SELECT id, namespace_id, source_id, target_id, kind, weight, created_at FROM memories_memoryedge
    WHERE namespace_id = %(namespace)s
    UNION ALL
    SELECT first.id, first.namespace_id, first.memory_id, first.other_id, '{EdgeKind.CONTRADICTION}', 1.0, %(as_of)s
    FROM (
        SELECT DISTINCT ON (e.namespace_id, e.memory_id, e.other_id) e.*
        FROM memories_scoreevent e
        WHERE e.namespace_id = %(namespace)s AND e.at > %(as_of)s AND e.memory_id > e.other_id
            AND e.before ? 'contradictions'
        ORDER BY e.namespace_id, e.memory_id, e.other_id, e.at, e.id
    ) AS first
    WHERE (first.after->>'contradictions')::int < (first.before->>'contradictions')::int
)"""


def edge_table(*, as_of: bool) -> str:
    """The edges between memories: today's, or those of a past time."""
    return EDGES_AS_OF if as_of else "memories_memoryedge"


@dataclass(frozen=True)
class Past:
    """How a past time differs from now: memories hidden since, and memories activated since."""

    as_of: datetime
    hidden_since: tuple[UUID, ...]
    active_since: tuple[UUID, ...]

    @classmethod
    def load(cls, namespace: Namespace, as_of: datetime) -> "Past":
        """Compare the status then and now; a forgotten memory stays forgotten."""
        [rows] = fetch_pipeline([Statement(STATUS_AS_OF, {"namespace": namespace.id, "as_of": as_of})])
        hidden = tuple(id for id, now, then in rows if then == Status.ACTIVE and now != Status.ACTIVE)
        activated = tuple(id for id, now, then in rows if then != Status.ACTIVE and now == Status.ACTIVE)
        return cls(as_of, hidden, activated)


def fold_events(namespace: Namespace, ids: Iterable[UUID], as_of: datetime) -> Mapping[UUID, dict[str, Any]]:
    """The values of memories as of a time, folded from their events; before its first event, those after the first.

    What no event up to then records has the value before its first later change.
    """
    folded: dict[UUID, dict[str, Any]] = {}
    events = ScoreEvent.objects.within(namespace).filter(memory_id__in=list(ids)).order_by("memory_id", "at", "id")
    for memory, at, before, after in events.values_list("memory_id", "at", "before", "after"):
        if memory not in folded or at <= as_of:
            folded.setdefault(memory, {}).update(after)
        else:
            folded[memory] = before | folded[memory]
    return folded
