"""By time: what takes place, holds or was said in the window that the query means, or near it."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memories.retrieval.past import DATED_THEN
from memories.retrieval.retrievers.question import SETTLED, Asked, Question, best
from memories.retrieval.retrievers.semantic import semantic
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

# Whether the window alone fills the list, so that nobody outside of it is wanted.
FULL = f"""(
    SELECT count(*) = %(pool)s FROM (
        SELECT 1 FROM memories_memory m
        WHERE m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(start)s AND %(until)s AND {SETTLED} AND {{scope}}
        LIMIT %(pool)s
    ) AS inside
)"""
# What begins near enough, and the little that began before and lasts until then: each has an index.
NEAR = f"""(
    WITH bounds AS MATERIALIZED (
        SELECT CASE WHEN is_full THEN %(start)s ELSE %(first)s END AS first,
            CASE WHEN is_full THEN %(until)s ELSE %(last)s END AS last
        FROM {FULL} AS f(is_full)
    )
    SELECT m.* FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s
        AND {BEGINS} BETWEEN (SELECT first FROM bounds) AND (SELECT last FROM bounds)
    UNION ALL
    SELECT m.* FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s AND (m.event_until IS NOT NULL OR m.valid_until IS NOT NULL)
        AND {ENDS} >= %(first)s AND {BEGINS} < (SELECT first FROM bounds)
)"""


def temporal(asked: Asked) -> Question | None:
    """A bell curve over the distance from the window, in half-widths of it."""
    window = asked.reading.window
    if window is None:
        return None
    half_width = max((window.when.until - window.when.start).total_seconds() / 2, LEAST_WIDTH)
    floor, sigma = max(asked.params.temporal_floor, 1e-12), asked.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    past = "as_of" in asked.scope.values
    memories = DATED_THEN if past else NEAR.format(scope=asked.scope.condition)
    listed = f"""
        SELECT m.id, exp(-power({AWAY}, 2) / (2 * %(sigma)s * %(sigma)s)) AS score
        FROM {memories} m WHERE {asked.scope.condition} AND {SETTLED} AND {AWAY} <= %(farthest)s
    """
    exact = asked.question(
        best(listed),
        start=window.when.start,
        until=window.when.until,
        first=moved(window.when.start, -farthest * half_width),
        last=moved(window.when.until, farthest * half_width),
        half_width=half_width,
        sigma=sigma,
        farthest=farthest,
    )
    return nearest_where_many(asked, exact) if asked.large and not past else exact


def nearest_where_many(asked: Asked, exact: Question) -> Question:
    """Where a window holds so many that all in the list lie in it, the index tells which of them are nearest."""
    inside = f"{asked.scope.condition} AND {SETTLED} AND {AWAY} <= 0"
    nearest = semantic(replace(asked, scope=replace(asked.scope, condition=inside, plain=False)))
    sql = f"""
        WITH crowded AS MATERIALIZED (
            SELECT count(*) = %(many)s AS is_so FROM (
                SELECT 1 FROM memories_memory m
                WHERE m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(start)s AND %(until)s AND {SETTLED}
                LIMIT %(many)s
            ) AS inside
        )
        SELECT * FROM ({exact.sql}) AS few WHERE NOT (SELECT is_so FROM crowded)
        UNION ALL
        SELECT memory_id, 1.0::float8 FROM ({nearest.sql}) AS nearest WHERE (SELECT is_so FROM crowded)
    """
    many = max(MANY, asked.reading.words.documents // MANY_OF)
    return Question(sql, {**exact.values, "many": many}, nearest.settings)


def moved(moment: datetime, seconds: float) -> datetime:
    """A moment so much later or earlier, at most the last or first that can be told."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
