"""By time: what takes place, holds or was said in the window that the query means, or near it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np

from memories.db.pipeline import Statement
from memories.models.choices import Route
from memories.retrieval.as_of import DATED_AS_OF
from memories.retrieval.retrievers.list_cache import cached_lists, deferred_list
from memories.retrieval.retrievers.retriever_context import (
    CERTAIN,
    JOIN_VECTOR,
    NEAREST,
    PendingQuery,
    RetrieverContext,
    RetrieverQuery,
    best_sql,
)
from memories.retrieval.retrievers.semantic import NAMESPACE_UNESTIMATED, hnsw_settings, hnsw_sql
from scoring.freshness import MIN_WINDOW_WIDTH

# When what a memory tells of takes place, else when it holds, else when it was said.
BEGINS = "coalesce(m.event_at, m.valid_from, m.happened_at, m.created_at)"
ENDS = f"""CASE WHEN m.event_at IS NOT NULL THEN coalesce(m.event_until, m.event_at)
    WHEN m.valid_from IS NOT NULL THEN coalesce(m.valid_until, m.valid_from) ELSE {BEGINS} END"""
WINDOW_DISTANCE = f"""greatest(
    date_part('epoch', %(start)s - ({ENDS})), date_part('epoch', {BEGINS} - %(until)s), 0
) / %(half_width)s"""

# So many in a window, or one of so many in the namespace, are compared one by one.
CROWD, CROWD_SHARE = 10_000, 50
ANY_NUMBER = 2**62

# What begins near enough, and the little that began before and lasts until then: each has an index.
BEGINS_IN_WINDOW = f"m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(start)s AND %(until)s"
LASTS_INTO_WINDOW = f"""
    m.namespace_id = %(namespace)s AND (m.event_until IS NOT NULL OR m.valid_until IS NOT NULL)
    AND {ENDS} >= %(start)s AND {BEGINS} < %(start)s
"""
NEAR_WINDOW = f"""(
    SELECT m.* FROM memories_memory m WHERE {BEGINS_IN_WINDOW}
    UNION ALL
    SELECT m.* FROM memories_memory m WHERE {LASTS_INTO_WINDOW}
)""".replace("%(start)s", "%(first)s").replace("%(until)s", "%(last)s")


def temporal_query(asked: RetrieverContext) -> RetrieverQuery | PendingQuery | None:
    """A bell curve over the distance from the window, in half-widths of it."""
    window = asked.parsed.window
    if window is None:
        return None
    half_width = max((window.interval.until - window.interval.start).total_seconds() / 2, MIN_WINDOW_WIDTH)
    floor, sigma = max(asked.params.temporal_floor, 1e-12), asked.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    values: dict[str, Any] = {
        "start": window.interval.start,
        "until": window.interval.until,
        "first": shift_datetime(window.interval.start, -farthest * half_width),
        "last": shift_datetime(window.interval.until, farthest * half_width),
        "half_width": half_width,
        "sigma": sigma,
        "farthest": farthest,
    }
    if "as_of" in asked.scope.values:
        return asked.query(gaussian_sql(asked, DATED_AS_OF), **values)
    values["many"] = max(CROWD, asked.parsed.terms.documents // CROWD_SHARE) if asked.large else ANY_NUMBER
    otherwise = partial(temporal_by_sql, asked, values)
    lists = cached_lists(asked, {window.interval: Statement(all_in_window_sql(asked), values)})
    # Where those that begin in it fill no list, whoever lies near it is found too.
    if lists is None or (held := lists[window.interval]).scores.sum() < asked.depth:
        return otherwise()
    return deferred_list(asked, lambda: (held.ids, np.ones(len(held.ids)), held.cosines(asked)), otherwise)


def temporal_by_sql(asked: RetrieverContext, values: Mapping[str, Any]) -> RetrieverQuery:
    """The question whose list the database makes."""
    if not asked.large:
        return asked.query(window_sql(asked), generic_plan=True, **values)
    inside = f"{asked.scope.condition} AND {CERTAIN} AND {WINDOW_DISTANCE} <= 0"
    nearest = hnsw_sql(inside, False, Route.FULL, asked.parsed.embedder, NAMESPACE_UNESTIMATED)
    sql = f"""
        {window_sql(asked)} UNION ALL
        SELECT memory_id, 1.0::float8 FROM ({nearest}) AS nearest WHERE (SELECT there FROM crowd)
    """
    return asked.query(sql, settings=hnsw_settings(asked), generic_plan=True, **values)


def gaussian_sql(asked: RetrieverContext, memories: str) -> str:
    """The best of some memories, each by how far it is away."""
    return best_sql(f"""
        SELECT m.id, exp(-power({WINDOW_DISTANCE}, 2) / (2 * %(sigma)s * %(sigma)s)) AS score
        FROM {memories} m WHERE {asked.scope.condition} AND {CERTAIN} AND {WINDOW_DISTANCE} <= %(farthest)s
    """)


def window_sql(asked: RetrieverContext) -> str:
    """Where the window fills the list, the nearest in meaning of what lies in it; else also what lies near it.

    Where there are many in it, none: the index tells the nearest of them sooner.
    """
    return f"""
        WITH {window_ctes(asked)},
        enough AS MATERIALIZED (
            SELECT count(*) = %(pool)s AS there FROM (SELECT 1 FROM inside LIMIT %(pool)s) AS these
            WHERE NOT (SELECT there FROM crowd)
        )
        SELECT * FROM ({gaussian_sql(asked, NEAR_WINDOW)}) AS near
        WHERE NOT (SELECT there FROM crowd) AND NOT (SELECT there FROM enough)
        UNION ALL
        SELECT * FROM (
            SELECT m.id, 1.0::float8 FROM ({in_or_lasting_sql(asked)}) m {JOIN_VECTOR} ORDER BY {NEAREST} LIMIT %(pool)s
        ) AS full_of_them WHERE (SELECT there FROM enough)
    """


def all_in_window_sql(asked: RetrieverContext) -> str:
    """What lies in a window, and whether it begins there; where there are many, none."""
    return f"""
        WITH {window_ctes(asked)}
        SELECT m.id, m.begun, v.vector FROM ({in_or_lasting_sql(asked)}) m {JOIN_VECTOR}
        WHERE NOT (SELECT there FROM crowd) LIMIT %(most)s
    """


def window_ctes(asked: RetrieverContext) -> str:
    """Whether there are many in a window, and those of them that may be found."""
    return f"""
        crowd AS MATERIALIZED (
            SELECT count(*) = %(many)s AS there FROM (
                SELECT 1 FROM memories_memory m WHERE {BEGINS_IN_WINDOW} AND {CERTAIN} LIMIT %(many)s
            ) AS these
        ),
        inside AS NOT MATERIALIZED (
            SELECT m.id, 1.0::float8 AS begun FROM memories_memory m
            WHERE {BEGINS_IN_WINDOW} AND {CERTAIN} AND {asked.scope.condition}
        )
    """


def in_or_lasting_sql(asked: RetrieverContext) -> str:
    """Those, and what began before and lasts until then."""
    return f"""
        SELECT id, begun FROM inside
        UNION ALL
        SELECT m.id, 0.0 FROM memories_memory m WHERE {LASTS_INTO_WINDOW} AND {CERTAIN} AND {asked.scope.condition}
    """


def shift_datetime(start: datetime, seconds: float) -> datetime:
    """A moment so much later or earlier, at most the last or first that can be told."""
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
