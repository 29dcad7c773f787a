"""Traces by query string, or one by id."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, FloatField, Func, Q
from django.http import Http404

from memories.db.ids import first_id_at
from memories.models import Namespace, Trace
from memories.models.keys import NamespacedQuerySet
from memories.web.fields import DateTime, Flag, Float, Integer, OneOf, Text
from memories.web.pagination import PageQuery
from scoring.systems import SYSTEMS

MAX_LATENCY_MS = 3_600_000  # milliseconds
CALLER_KINDS = ("agent", "person")
# A trace's UUIDv7 is generated shortly before its timestamp; dates outside FIRST to LAST have no ids.
ID_MARGIN = timedelta(seconds=1)
FIRST_ID_DATE, LAST_ID_DATE = datetime(1971, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
# Without candidates, signals and answer, the large columns.
LIST_COLUMNS = ("id", "at", "query", "system", "request", "results", "abstained", "best_score", "api_key_id")


class JsonObjectSum(Func):
    """The sum of the numbers in a JSON object."""

    template = "(SELECT coalesce(sum(value::float8), 0) FROM jsonb_each_text(%(expressions)s))"
    output_field = FloatField()


class TraceQuery(PageQuery):
    """Filters of the trace list."""

    q = Text(max_length=1_000, required=False, help_text="substring of the query, case-insensitive")
    system = OneOf(choices=list(SYSTEMS), required=False)
    abstained = Flag(in_query=True, required=False, help_text="whether the system abstained")
    slower_than = Integer(
        in_query=True, min_value=0, max_value=MAX_LATENCY_MS, required=False, help_text="total latency in milliseconds"
    )
    best_below = Float(
        in_query=True, required=False, help_text="score of the top result; traces without results are left out"
    )
    requested_by = OneOf(choices=list(CALLER_KINDS), required=False, help_text="agent: by API key; person: signed in")
    since = DateTime(required=False, help_text="at this time or later")
    until = DateTime(required=False, help_text="before this time")


CONDITIONS: Mapping[str, Callable[[Any], Q]] = {
    "q": lambda text: Q(query__icontains=text),
    "system": lambda system: Q(system=system),
    "abstained": lambda abstained: Q(abstained=abstained),
    "slower_than": lambda milliseconds: Q(took__gt=milliseconds),
    "best_below": lambda score: Q(best_score__lt=score),
    "requested_by": lambda kind: Q(api_key_id__isnull=kind == "person"),
    # The condition on the id lets Postgres prune the daily partitions.
    "since": lambda time: Q(at__gte=time, id__gte=first_id_at(clamp_to_id_range(time) - ID_MARGIN)),
    "until": lambda time: Q(at__lt=time, id__lt=first_id_at(clamp_to_id_range(time) + ID_MARGIN)),
}


def filter_traces(namespace: Namespace, query: Mapping[str, Any]) -> NamespacedQuerySet[Trace]:
    """The traces that match a query string, without shadow traffic."""
    rows = Trace.objects.within(namespace).filter(shadow=False).only(*LIST_COLUMNS)
    rows = rows.annotate(took=JsonObjectSum(F("took_ms")))
    conditions = [CONDITIONS[name](query[name]) for name in CONDITIONS if name in query]
    return rows.filter(*conditions)


def clamp_to_id_range(timestamp: datetime) -> datetime:
    """The timestamp, clamped to the range that has ids."""
    return min(max(timestamp, FIRST_ID_DATE), LAST_ID_DATE)


def trace_or_404(namespace: Namespace, id: UUID) -> Trace:
    """Load a trace of a namespace, or raise 404."""
    trace = Trace.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if trace is None:
        raise Http404(f"There is no trace {id} here.")
    return trace
