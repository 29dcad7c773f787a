"""By time: what takes place, holds or was said in the window that the query means, or near it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np

from memories.journey import Statement
from memories.models.choices import Route
from memories.retrieval.past import DATED_THEN
from memories.retrieval.retrievers.kept_lists import lists_for, unready
from memories.retrieval.retrievers.question import BY_MEANING, NEAREST, SETTLED, Asked, Question, Unready, best
from memories.retrieval.retrievers.semantic import UNWEIGHED, by_index, effort
from scoring.freshness import LEAST_WIDTH

# When what a memory tells of takes place, else when it holds, else when it was said.
BEGINS = "coalesce(m.event_at, m.valid_from, m.happened_at, m.created_at)"
ENDS = f"""CASE WHEN m.event_at IS NOT NULL THEN coalesce(m.event_until, m.event_at)
    WHEN m.valid_from IS NOT NULL THEN coalesce(m.valid_until, m.valid_from) ELSE {BEGINS} END"""
AWAY = f"""greatest(
    date_part('epoch', %(start)s - ({ENDS})), date_part('epoch', {BEGINS} - %(until)s), 0
) / %(half_width)s"""

# So many in a window, or one of so many in the namespace, are compared one by one.
MANY, MANY_OF = 10_000, 50
ANY_NUMBER = 2**62

# What begins near enough, and the little that began before and lasts until then: each has an index.
BEGUN = f"m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(start)s AND %(until)s"
LASTING = f"""
    m.namespace_id = %(namespace)s AND (m.event_until IS NOT NULL OR m.valid_until IS NOT NULL)
    AND {ENDS} >= %(start)s AND {BEGINS} < %(start)s
"""
NEAR = f"""(
    SELECT m.* FROM memories_memory m WHERE {BEGUN}
    UNION ALL
    SELECT m.* FROM memories_memory m WHERE {LASTING}
)""".replace("%(start)s", "%(first)s").replace("%(until)s", "%(last)s")


def temporal(asked: Asked) -> Question | Unready | None:
    """A bell curve over the distance from the window, in half-widths of it."""
    window = asked.reading.window
    if window is None:
        return None
    half_width = max((window.when.until - window.when.start).total_seconds() / 2, LEAST_WIDTH)
    floor, sigma = max(asked.params.temporal_floor, 1e-12), asked.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    values: dict[str, Any] = {
        "start": window.when.start,
        "until": window.when.until,
        "first": moved(window.when.start, -farthest * half_width),
        "last": moved(window.when.until, farthest * half_width),
        "half_width": half_width,
        "sigma": sigma,
        "farthest": farthest,
    }
    if "as_of" in asked.scope.values:
        return asked.question(by_distance(asked, DATED_THEN), **values)
    values["many"] = max(MANY, asked.reading.words.documents // MANY_OF) if asked.large else ANY_NUMBER
    otherwise = partial(by_database, asked, values)
    lists = lists_for(asked, {window.when: Statement(all_inside(asked), values)})
    # Where those that begin in it fill no list, whoever lies near it is found too.
    if lists is None or (held := lists[window.when]).told.sum() < asked.pool:
        return otherwise()
    return unready(asked, lambda: (held.ids, np.ones(len(held.ids)), held.near(asked)), otherwise)


def by_database(asked: Asked, values: Mapping[str, Any]) -> Question:
    """The question whose list the database makes."""
    if not asked.large:
        return asked.question(by_crowd(asked), planned_once=True, **values)
    inside = f"{asked.scope.condition} AND {SETTLED} AND {AWAY} <= 0"
    nearest = by_index(inside, False, Route.FULL, asked.reading.embedder, UNWEIGHED)
    sql = f"""
        {by_crowd(asked)} UNION ALL
        SELECT memory_id, 1.0::float8 FROM ({nearest}) AS nearest WHERE (SELECT there FROM crowd)
    """
    return asked.question(sql, settings=effort(asked), planned_once=True, **values)


def by_distance(asked: Asked, memories: str) -> str:
    """The best of some memories, each by how far it is away."""
    return best(f"""
        SELECT m.id, exp(-power({AWAY}, 2) / (2 * %(sigma)s * %(sigma)s)) AS score
        FROM {memories} m WHERE {asked.scope.condition} AND {SETTLED} AND {AWAY} <= %(farthest)s
    """)


def by_crowd(asked: Asked) -> str:
    """Where the window fills the list, the nearest in meaning of what lies in it; else also what lies near it.

    Where there are many in it, none: the index tells the nearest of them sooner.
    """
    return f"""
        WITH {crowd_and_inside(asked)},
        enough AS MATERIALIZED (
            SELECT count(*) = %(pool)s AS there FROM (SELECT 1 FROM inside LIMIT %(pool)s) AS these
            WHERE NOT (SELECT there FROM crowd)
        )
        SELECT * FROM ({by_distance(asked, NEAR)}) AS near
        WHERE NOT (SELECT there FROM crowd) AND NOT (SELECT there FROM enough)
        UNION ALL
        SELECT * FROM (
            SELECT m.id, 1.0::float8 FROM ({inside_at_all(asked)}) m {BY_MEANING} ORDER BY {NEAREST} LIMIT %(pool)s
        ) AS full_of_them WHERE (SELECT there FROM enough)
    """


def all_inside(asked: Asked) -> str:
    """What lies in a window, and whether it begins there; where there are many, none."""
    return f"""
        WITH {crowd_and_inside(asked)}
        SELECT m.id, m.begun, v.vector FROM ({inside_at_all(asked)}) m {BY_MEANING}
        WHERE NOT (SELECT there FROM crowd) LIMIT %(most)s
    """


def crowd_and_inside(asked: Asked) -> str:
    """Whether there are many in a window, and those of them that may be found."""
    return f"""
        crowd AS MATERIALIZED (
            SELECT count(*) = %(many)s AS there FROM (
                SELECT 1 FROM memories_memory m WHERE {BEGUN} AND {SETTLED} LIMIT %(many)s
            ) AS these
        ),
        inside AS NOT MATERIALIZED (
            SELECT m.id, 1.0::float8 AS begun FROM memories_memory m
            WHERE {BEGUN} AND {SETTLED} AND {asked.scope.condition}
        )
    """


def inside_at_all(asked: Asked) -> str:
    """Those, and what began before and lasts until then."""
    return f"""
        SELECT id, begun FROM inside
        UNION ALL
        SELECT m.id, 0.0 FROM memories_memory m WHERE {LASTING} AND {SETTLED} AND {asked.scope.condition}
    """


def moved(moment: datetime, seconds: float) -> datetime:
    """A moment so much later or earlier, at most the last or first that can be told."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
