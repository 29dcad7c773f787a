"""Entity drift: recent facts about an entity have moved away from earlier ones, and its relations have changed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from memories.contracts.work import Work
from memories.maintenance.fact_vectors import unpack_vectors
from memories.maintenance.reflection_scope import MAX_EXAMPLES, in_batches
from memories.models import Entity, Namespace
from memories.models.choices import ChunkLevel, Route, Status
from memories.writing.write_policy import current_write_policy
from scoring.dedup import centroid_distance, has_drifted, set_overlap
from scoring.policy import WritePolicyParams
from scoring.term import Array

MENTIONING_SQL = f"""
    FROM memories_mention mention
    JOIN memories_memory m ON m.namespace_id = mention.namespace_id AND m.id = mention.memory_id
        AND m.status = '{Status.ACTIVE}' AND m.level = '{ChunkLevel.FACT}'
    CROSS JOIN LATERAL (SELECT coalesce(m.happened_at, m.created_at) >= %(since)s AS recent) age
"""
ENTITIES_SQL = f"""
    SELECT mention.entity_id {MENTIONING_SQL} WHERE mention.namespace_id = %(namespace)s
    GROUP BY mention.entity_id
    HAVING least(count(*) FILTER (WHERE recent), count(*) FILTER (WHERE NOT recent)) >= %(minimum)s
    ORDER BY mention.entity_id
"""
PERIODS_SQL = f"""
    SELECT mention.entity_id, recent, count(*), vector_send(avg(v.vector)),
        array_agg(DISTINCT m.predicate) FILTER (WHERE m.subject_id = mention.entity_id AND m.predicate <> '')
    {MENTIONING_SQL}
    JOIN memories_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
        AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}'
    WHERE mention.namespace_id = %(namespace)s AND mention.entity_id = ANY(%(entities)s)
    GROUP BY mention.entity_id, recent
"""


class EntityPeriod(NamedTuple):
    """The facts about an entity within the drift window, or before it."""

    memories: int
    centroid: Array  # one row, as the formula takes sets of vectors
    relations: frozenset[str]


class EntityChange(NamedTuple):
    """An entity's facts before the drift window and within it."""

    entity: UUID
    before: EntityPeriod
    lately: EntityPeriod

    def has_drifted(self, policy: WritePolicyParams) -> bool:
        """Whether the two differ by more than the policy allows."""
        return has_drifted(
            self.before.centroid,
            self.lately.centroid,
            self.before.relations,
            self.lately.relations,
            distance=policy.drift_distance,
            overlap=policy.drift_overlap,
        )

    def to_dict(self) -> dict[str, Any]:
        """The change as a job's result lists it."""
        return {
            "entity": str(self.entity),
            "distance": round(centroid_distance(self.before.centroid, self.lately.centroid), 3),
            "overlap": round(set_overlap(self.before.relations, self.lately.relations), 3),
            "before": self.before.memories,
            "lately": self.lately.memories,
        }


def detect_drift(work: Work) -> None:
    """List the entities that drifted; nothing is changed."""
    namespace, policy = work.namespace, current_write_policy(work.namespace)
    entities = comparable_entities(namespace, policy, work.now)
    drifted: list[dict[str, Any]] = []
    for batch in in_batches(entities):
        changes = entity_changes(namespace, batch, policy, work.now)
        drifted += [change.to_dict() for change in changes if change.has_drifted(policy)]
        work.record_progress(work.job.done + len(batch), len(entities))
    drifted.sort(key=lambda entity: (-entity["distance"], entity["entity"]))
    rows = Entity.objects.within(namespace).filter(id__in=[entity["entity"] for entity in drifted])
    names = dict(rows.values_list("id", "name"))
    # Overwritten, not appended to: a restarted step finds the same again.
    work.step_result["examples"] = [
        {**entity, "name": names[UUID(entity["entity"])]} for entity in drifted[:MAX_EXAMPLES]
    ]
    work.step_result.update(looked_at=len(entities), drifted=len(drifted))
    work.record_progress(len(entities), len(entities))


def comparable_entities(namespace: Namespace, policy: WritePolicyParams, now: datetime) -> list[UUID]:
    """The entities with enough facts before the drift window and within it."""
    values = {"namespace": namespace.id, "since": window_start(policy, now), "minimum": policy.drift_members}
    return [row[0] for row in fetch_all(ENTITIES_SQL, values)]


def entity_changes(
    namespace: Namespace, entities: Sequence[UUID], policy: WritePolicyParams, now: datetime
) -> list[EntityChange]:
    """The facts about each entity before the window and within it, where both have vectors."""
    values = {"namespace": namespace.id, "embedder": namespace.embedder, "since": window_start(policy, now)}
    periods: dict[UUID, dict[bool, EntityPeriod]] = {}
    for entity, recent, count, centroid, relations in fetch_all(PERIODS_SQL, values | {"entities": list(entities)}):
        vector = unpack_vectors([centroid]).astype(float)
        periods.setdefault(entity, {})[recent] = EntityPeriod(count, vector, frozenset(relations or ()))
    return [EntityChange(entity, period[False], period[True]) for entity, period in periods.items() if len(period) == 2]


def window_start(policy: WritePolicyParams, now: datetime) -> datetime:
    """The start of the drift window."""
    return now - timedelta(days=policy.drift_window)


def fetch_all(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
