"""By time: what takes place, holds or was said in the window that the query means, or near it."""

import math
from datetime import UTC, datetime, timedelta

from memories.retrieval.past import DATED_THEN
from memories.retrieval.retrievers.question import SETTLED, Asked, Question, best
from scoring.freshness import LEAST_WIDTH

# When what a memory tells of takes place, else when it holds, else when it was said.
BEGINS = "coalesce(m.event_at, m.valid_from, m.happened_at, m.created_at)"
ENDS = f"""CASE WHEN m.event_at IS NOT NULL THEN coalesce(m.event_until, m.event_at)
    WHEN m.valid_from IS NOT NULL THEN coalesce(m.valid_until, m.valid_from) ELSE {BEGINS} END"""
AWAY = f"""greatest(
    extract(epoch FROM %(start)s - ({ENDS})), extract(epoch FROM {BEGINS} - %(until)s), 0
) / %(half_width)s"""

# What begins near enough, and the little that began before and lasts until then: each has an index.
NEAR = f"""(
    SELECT m.* FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s AND {BEGINS} BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT m.* FROM memories_memory m
    WHERE m.namespace_id = %(namespace)s AND (m.event_until IS NOT NULL OR m.valid_until IS NOT NULL)
        AND {ENDS} >= %(first)s AND {BEGINS} < %(first)s
)"""


def temporal(asked: Asked) -> Question | None:
    """A bell curve over the distance from the window, in half-widths of it."""
    window = asked.reading.window
    if window is None:
        return None
    half_width = max((window.when.until - window.when.start).total_seconds() / 2, LEAST_WIDTH)
    floor, sigma = max(asked.params.temporal_floor, 1e-12), asked.params.temporal_sigma
    farthest = sigma * math.sqrt(-2 * math.log(floor))
    memories = DATED_THEN if "as_of" in asked.scope.values else NEAR
    listed = f"""
        SELECT m.id, exp(-power({AWAY}, 2) / (2 * %(sigma)s * %(sigma)s)) AS score
        FROM {memories} m WHERE {asked.scope.condition} AND {SETTLED} AND {AWAY} <= %(farthest)s
    """
    return asked.question(
        best(listed),
        start=window.when.start,
        until=window.when.until,
        first=moved(window.when.start, -farthest * half_width),
        last=moved(window.when.until, farthest * half_width),
        half_width=half_width,
        sigma=sigma,
        farthest=farthest,
    )


def moved(moment: datetime, seconds: float) -> datetime:
    """A moment so much later or earlier, at most the last or first that can be told."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
