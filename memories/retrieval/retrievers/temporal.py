"""Temporal: memories that take place, are valid or were said in the query's time window, or near it."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from memories.db.pipeline import Statement
from memories.retrieval.as_of import DATED_AS_OF
from memories.retrieval.retrievers.context import CERTAIN, JOIN_VECTOR, NEAREST, RetrieverContext, top_sql
from scoring.freshness import MIN_WINDOW_WIDTH

# When its event takes place, else when it is valid, else when it was said.
BEGINS = "coalesce(m.event_at, m.valid_from, m.happened_at, m.created_at)"
ENDS = f"""CASE WHEN m.event_at IS NOT NULL THEN coalesce(m.event_until, m.event_at)
    WHEN m.valid_from IS NOT NULL THEN coalesce(m.valid_until, m.valid_from) ELSE {BEGINS} END"""
# Distance of a memory from the window, in half-widths of the window.
WINDOW_DISTANCE = f"""greatest(
    date_part('epoch', %(start)s - ({ENDS})), date_part('epoch', {BEGINS} - %(until)s), 0
) / %(half_width)s"""

# Each condition has an index: memories that begin in the window, and the few that began before and last into it.
BEGINS_IN_WINDOW = f"m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(start)s AND %(until)s"
LASTS_INTO_WINDOW = f"""
    m.namespace_id = %(namespace)s AND (m.event_until IS NOT NULL OR m.valid_until IS NOT NULL)
    AND {ENDS} >= %(start)s AND {BEGINS} < %(start)s
"""
NEAR_WINDOW = f"""(
    SELECT m.* FROM memories_memory m WHERE {BEGINS_IN_WINDOW}
    UNION ALL
    SELECT m.* FROM memories_memory m WHERE {LASTS_INTO_WINDOW}
)""".replace("%(start)s", "%(near_start)s").replace("%(until)s", "%(near_until)s")


def sql(context: RetrieverContext) -> Statement | None:
    """Scored by a Gaussian of the distance from the window, 1 inside it."""
    if context.parsed.window is None:
        return None
    statement = gaussian_sql(context, DATED_AS_OF) if "as_of" in context.scope.values else window_sql(context)
    return context.statement(statement, **window_values(context))


def window_values(context: RetrieverContext) -> dict[str, Any]:
    """The window, the margins around it, and how many of the memories in it are compared."""
    assert context.parsed.window is not None
    interval = context.parsed.window.interval
    half_width = max((interval.until - interval.start).total_seconds() / 2, MIN_WINDOW_WIDTH)
    floor, sigma = max(context.params.temporal_floor, 1e-12), context.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    return {
        "start": interval.start,
        "until": interval.until,
        "near_start": shift_datetime(interval.start, -farthest * half_width),
        "near_until": shift_datetime(interval.until, farthest * half_width),
        "half_width": half_width,
        "sigma": sigma,
        "farthest": farthest,
        "compared": context.max_compared,
    }


def gaussian_sql(context: RetrieverContext, memories: str) -> str:
    """The top memories of a table by the Gaussian."""
    return top_sql(f"""
        SELECT m.id, exp(-power({WINDOW_DISTANCE}, 2) / (2 * %(sigma)s * %(sigma)s)) AS score
        FROM {memories} m WHERE {context.scope.condition} AND {CERTAIN} AND {WINDOW_DISTANCE} <= %(farthest)s
    """)


def window_sql(context: RetrieverContext) -> str:
    """The nearest in the window if they fill the list, else also memories near it.

    All in the window score 1; in a large namespace the latest of them are compared.
    """
    in_scope = f"{CERTAIN} AND {context.scope.condition}"
    return f"""
        WITH beginning AS MATERIALIZED (
            SELECT m.id FROM memories_memory m WHERE {BEGINS_IN_WINDOW} AND {in_scope}
            ORDER BY {BEGINS} DESC LIMIT %(compared)s
        ),
        full_list AS MATERIALIZED (SELECT count(*) >= %(depth)s AS there FROM beginning)
        SELECT * FROM ({gaussian_sql(context, NEAR_WINDOW)}) AS near WHERE NOT (SELECT there FROM full_list)
        UNION ALL
        SELECT * FROM (
            SELECT m.id, 1.0::float8 FROM (
                SELECT id FROM beginning
                UNION ALL
                SELECT m.id FROM memories_memory m WHERE {LASTS_INTO_WINDOW} AND {in_scope}
            ) m {JOIN_VECTOR} ORDER BY {NEAREST} LIMIT %(depth)s
        ) AS inside WHERE (SELECT there FROM full_list)
    """


def scores_of(context: RetrieverContext, ids: str) -> Statement | None:
    """The scores of memories that other retrievers found, if more are in the window than are compared."""
    if context.parsed.window is None or context.max_compared is None or "as_of" in context.scope.values:
        return None
    in_scope = f"{CERTAIN} AND {context.scope.condition}"
    beginning = f"SELECT FROM memories_memory m WHERE {BEGINS_IN_WINDOW} AND {in_scope} LIMIT %(compared)s"
    statement = f"""
        SELECT m.id, 1.0::float8 FROM memories_memory m
        WHERE (SELECT count(*) FROM ({beginning}) AS beginning) >= %(compared)s
            AND m.id = ANY(%(ids)s::uuid[]) AND {in_scope} AND ({BEGINS_IN_WINDOW} OR {LASTS_INTO_WINDOW})
    """
    return context.statement(statement, **window_values(context), ids=ids)


def shift_datetime(start: datetime, seconds: float) -> datetime:
    """A datetime some seconds later, clamped to the range of datetime."""
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
