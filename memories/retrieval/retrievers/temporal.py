"""By time: what takes place, holds or was said in the window that the query means, or near it."""

import math
from datetime import UTC, datetime, timedelta

from memories.models.choices import Route
from memories.retrieval.past import DATED_THEN
from memories.retrieval.retrievers.question import BY_MEANING, NEAREST, SETTLED, Asked, Question, best
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


def temporal(asked: Asked) -> Question | None:
    """A bell curve over the distance from the window, in half-widths of it."""
    window = asked.reading.window
    if window is None:
        return None
    half_width = max((window.when.until - window.when.start).total_seconds() / 2, LEAST_WIDTH)
    floor, sigma = max(asked.params.temporal_floor, 1e-12), asked.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    values = {
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
    if not asked.large:
        return asked.question(by_crowd(asked), planned_once=True, many=ANY_NUMBER, **values)
    many = max(MANY, asked.reading.words.documents // MANY_OF)
    inside = f"{asked.scope.condition} AND {SETTLED} AND {AWAY} <= 0"
    nearest = by_index(inside, False, Route.FULL, asked.reading.embedder, UNWEIGHED)
    sql = f"""
        {by_crowd(asked)} UNION ALL
        SELECT memory_id, 1.0::float8 FROM ({nearest}) AS nearest WHERE (SELECT there FROM crowd)
    """
    return asked.question(sql, settings=effort(asked), planned_once=True, many=many, **values)


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
    inside = f"{SETTLED} AND {asked.scope.condition}"
    return f"""
        WITH crowd AS MATERIALIZED (
            SELECT count(*) = %(many)s AS there FROM (
                SELECT 1 FROM memories_memory m WHERE {BEGUN} AND {SETTLED} LIMIT %(many)s
            ) AS these
        ),
        inside AS NOT MATERIALIZED (SELECT m.id FROM memories_memory m WHERE {BEGUN} AND {inside}),
        enough AS MATERIALIZED (
            SELECT count(*) = %(pool)s AS there FROM (SELECT 1 FROM inside LIMIT %(pool)s) AS these
            WHERE NOT (SELECT there FROM crowd)
        )
        SELECT * FROM ({by_distance(asked, NEAR)}) AS near
        WHERE NOT (SELECT there FROM crowd) AND NOT (SELECT there FROM enough)
        UNION ALL
        SELECT * FROM (
            SELECT m.id, 1.0::float8 FROM (
                SELECT id FROM inside
                UNION ALL
                SELECT m.id FROM memories_memory m WHERE {LASTING} AND {inside}
            ) m {BY_MEANING} ORDER BY {NEAREST} LIMIT %(pool)s
        ) AS full_of_them WHERE (SELECT there FROM enough)
    """


def moved(moment: datetime, seconds: float) -> datetime:
    """A moment so much later or earlier, at most the last or first that can be told."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
