"""Entities that have become something else: what is said of them moved away, and their relations changed."""

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.db import connection

from memories.jobs.work import Work
from memories.models import Entity
from memories.models.choices import ChunkLevel, Route, Status
from memories.reflecting.pieces import EXAMPLES, parts
from memories.writing.write_policy import current_write_policy
from scoring.dedup import centroid_distance, has_drifted, set_overlap
from scoring.policy import WritePolicyParams
from scoring.term import Array

SAID = f"""
    FROM memories_mention named
    JOIN memories_memory m ON m.namespace_id = named.namespace_id AND m.id = named.memory_id
        AND m.status = '{Status.ACTIVE}' AND m.level = '{ChunkLevel.FACT}'
    CROSS JOIN LATERAL (SELECT coalesce(m.happened_at, m.created_at) >= %(lately)s AS lately) age
"""
TOLD_BOTH_TIMES = f"""
    SELECT named.entity_id {SAID} WHERE named.namespace_id = %(namespace)s
    GROUP BY named.entity_id
    HAVING least(count(*) FILTER (WHERE lately), count(*) FILTER (WHERE NOT lately)) >= %(needed)s
    ORDER BY named.entity_id
"""
SIDES = f"""
    SELECT named.entity_id, lately, count(*), vector_send(avg(v.vector)),
        array_agg(DISTINCT m.predicate) FILTER (WHERE m.subject_id = named.entity_id AND m.predicate <> '')
    {SAID}
    JOIN memories_memoryvector v ON v.namespace_id = m.namespace_id AND v.memory_id = m.id
        AND v.embedder = %(embedder)s AND v.route = '{Route.FULL}'
    WHERE named.namespace_id = %(namespace)s AND named.entity_id = ANY(%(entities)s)
    GROUP BY named.entity_id, lately
"""


class Side(NamedTuple):
    """What was said of an entity lately, or before."""

    memories: int
    centroid: Array  # one row, as the formula takes groups of vectors
    relations: frozenset[str]


def drift(work: Work) -> None:
    """List the entities that drifted; nothing is changed."""
    namespace, policy = work.namespace, current_write_policy(work.namespace)
    asked = {
        "namespace": namespace.id,
        "embedder": namespace.embedder,
        "lately": work.now - timedelta(days=policy.drift_window),
        "needed": policy.drift_members,
    }
    entities = [row[0] for row in answers(TOLD_BOTH_TIMES, asked)]
    found: list[dict[str, Any]] = []
    for block in parts(entities):
        found += moved_away(answers(SIDES, asked | {"entities": block}), policy)
        work.record_progress(work.job.done + len(block), len(entities))
    found.sort(key=lambda one: (-one["distance"], one["entity"]))
    names = dict(
        Entity.objects.within(namespace).filter(id__in=[one["entity"] for one in found]).values_list("id", "name")
    )
    # Set and not added to: a step that is begun anew finds the same again.
    work.step_result["examples"] = [{**one, "name": names[UUID(one["entity"])]} for one in found[:EXAMPLES]]
    work.step_result.update(looked_at=len(entities), drifted=len(found))
    work.record_progress(len(entities), len(entities))


def moved_away(rows: list[tuple[Any, ...]], policy: WritePolicyParams) -> list[dict[str, Any]]:
    """Those entities of which other things are said lately than before."""
    sides: dict[UUID, dict[bool, Side]] = {}
    for entity, lately, count, centroid, relations in rows:
        # Four bytes that tell the length, then a big-endian float for each dimension.
        vector = np.frombuffer(bytes(centroid), ">f4")[None, 1:].astype(float)
        sides.setdefault(entity, {})[lately] = Side(count, vector, frozenset(relations or ()))
    found = []
    for entity, side in sides.items():
        if len(side) < 2:
            continue  # one of its times has no vectors yet
        before, now = side[False], side[True]
        limits = {"distance": policy.drift_distance, "overlap": policy.drift_overlap}
        if has_drifted(before.centroid, now.centroid, before.relations, now.relations, **limits):
            found.append(
                {
                    "entity": str(entity),
                    "distance": round(centroid_distance(before.centroid, now.centroid), 3),
                    "overlap": round(set_overlap(before.relations, now.relations), 3),
                    "before": before.memories,
                    "lately": now.memories,
                }
            )
    return found


def answers(statement: str, asked: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Ask the database."""
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        return list(cursor.fetchall())
