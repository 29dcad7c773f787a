"""Entity drift: recent facts about an entity have moved away from earlier ones, and its relations have changed."""

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from memories.contracts.work import Work
from memories.maintenance.fact_vectors import unpack_vectors
from memories.maintenance.reflection_scope import MAX_EXAMPLES, in_batches
from memories.models import Entity
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


def detect_drift(work: Work) -> None:
    """List the entities that drifted; nothing is changed."""
    namespace, policy = work.namespace, current_write_policy(work.namespace)
    values = {
        "namespace": namespace.id,
        "embedder": namespace.embedder,
        "since": work.now - timedelta(days=policy.drift_window),
        "minimum": policy.drift_members,
    }
    entities = [row[0] for row in fetch_all(ENTITIES_SQL, values)]
    drifted: list[dict[str, Any]] = []
    for batch in in_batches(entities):
        drifted += drifted_entities(fetch_all(PERIODS_SQL, values | {"entities": batch}), policy)
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


def drifted_entities(rows: list[tuple[Any, ...]], policy: WritePolicyParams) -> list[dict[str, Any]]:
    """The entities whose recent facts differ from earlier ones by more than the policy allows."""
    periods: dict[UUID, dict[bool, EntityPeriod]] = {}
    for entity, recent, count, centroid, relations in rows:
        vector = unpack_vectors([centroid]).astype(float)
        periods.setdefault(entity, {})[recent] = EntityPeriod(count, vector, frozenset(relations or ()))
    drifted = []
    for entity, period in periods.items():
        if len(period) < 2:
            continue  # one of them has no vectors yet
        before, now = period[False], period[True]
        limits = {"distance": policy.drift_distance, "overlap": policy.drift_overlap}
        if has_drifted(before.centroid, now.centroid, before.relations, now.relations, **limits):
            drifted.append(
                {
                    "entity": str(entity),
                    "distance": round(centroid_distance(before.centroid, now.centroid), 3),
                    "overlap": round(set_overlap(before.relations, now.relations), 3),
                    "before": before.memories,
                    "lately": now.memories,
                }
            )
    return drifted


def fetch_all(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
