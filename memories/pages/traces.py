"""Views of the Traces pages: a filtered live list, and a single trace."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET
from rest_framework.exceptions import ValidationError

from memories.db.ids import first_id_at
from memories.models import ApiKey, Namespace, Trace
from memories.pages.access import members_only
from memories.pages.request_data import api_request, query_params_dict
from memories.retrieval.retrieve import STEPS
from memories.retrieval.trace import redact_forgotten
from memories.web.fields import DateTime, Identifier
from memories.web.layout import render_page
from memories.web.pagination import paginate
from memories.web.trace_filters import CALLER_KINDS, TraceQuery, filter_traces, trace_or_404
from memories.web.validation_errors import flatten_errors
from scoring.systems import SYSTEMS

MAX_ARRIVALS = 50  # new rows per poll
TIME_FIELDS = ("since", "until")


class DatetimeLocalField(DateTime):
    """A timestamp of a datetime-local input; without an offset it is UTC, as the page states."""

    def to_internal_value(self, value: Any) -> datetime:
        """Add UTC if there is no offset, then parse as the API does."""
        try:
            naive = parse_datetime(value)
        except ValueError:  # no such day; the API's field reports it
            naive = None
        return super().to_internal_value(
            naive.replace(tzinfo=UTC).isoformat() if naive and naive.tzinfo is None else value
        )


class TracePageQuery(TraceQuery):
    """Filters of the trace list."""

    since = DatetimeLocalField(required=False)
    until = DatetimeLocalField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject a time span that ends before it starts."""
        since, until = attrs.get("since"), attrs.get("until")
        if since and until and until <= since:
            raise ValidationError({"until": [f"must lie after since ({since.isoformat()}); got {until.isoformat()}"]})
        return attrs


class NewTracesQuery(TracePageQuery):
    """Filters of the trace list, for traces newer than a known one."""

    after = Identifier()


@require_GET
@members_only
def trace_list_page(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The trace list, paginated; the first page polls for new traces."""
    drf_request = api_request(request)
    context: dict[str, Any] = {
        "given": query_params_dict(drf_request),
        "systems": list(SYSTEMS),
        "caller_kinds": CALLER_KINDS,
        "full_bar_ms": settings.RECALL_RETRIEVER_MS,
    }
    try:
        query = TracePageQuery.from_request(drf_request)
        page = paginate(drf_request, namespace, filter_traces(namespace, query), query, by_id=True)
    except ValidationError as error:
        problems = list(flatten_errors(error.detail))
        return render_page(request, "memories/traces.html", context | {"wrong": problems}, partial="found", status=400)
    filters = {name: text for name, text in query_params_dict(drf_request).items() if name not in ("cursor", "limit")}
    now = timezone.now()
    newest = page.rows[0].id if page.rows else first_id_at(now)
    closed = "cursor" in query or query.get("until", now) < now  # new traces do not belong on this page
    context |= {
        "given": context["given"] | {name: datetime_local_value(query[name]) for name in TIME_FIELDS if name in query},
        "found": page,
        "rows": trace_rows(namespace, page.rows),
        "summary": latency_summary(page.rows),
        "filters": filters,
        "live": None if closed else poll_url(namespace, filters, newest),
        "first": f"{request.path}?{urlencode(filters)}" if filters else request.path,
    }
    return render_page(request, "memories/traces.html", context, partial="found")


@require_GET
@members_only
def new_traces(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Rows newer than a trace, with the URL of the next poll; 204 if there are none."""
    drf_request = api_request(request)
    try:
        query = NewTracesQuery.from_request(drf_request)
    except ValidationError:
        return HttpResponse(status=400)
    # Oldest first, so that a burst is spread over several polls and nothing is skipped.
    new = list(reversed(filter_traces(namespace, query).filter(id__gt=query["after"]).order_by("id")[:MAX_ARRIVALS]))
    if not new:
        return HttpResponse(status=204)
    filters = {name: text for name, text in query_params_dict(drf_request).items() if name != "after"}
    context = {"rows": trace_rows(namespace, new), "live": poll_url(namespace, filters, new[0].id), "arrived": True}
    return render_page(request, "memories/traces.html", context, partial="arrived")


@require_GET
@members_only
def trace_page(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One retrieval as recorded in its trace."""
    trace = trace_or_404(namespace, id)
    took = {step: trace.took_ms[step] for step in STEPS if step in trace.took_ms}
    longest = max(took.values(), default=0) or 1
    request_fields = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in trace.request.items()
        if value and name not in ("profile", "version", "as_of")
    }
    context = {
        "trace": trace,
        "answer": redact_forgotten(trace),
        "who": trace_key_names(namespace, [trace])[0],
        "total": sum(took.values()),
        "steps": [(step, ms, 100 * ms / longest) for step, ms in took.items()],
        "candidates": len(trace.candidates),
        "request_fields": request_fields,
    }
    return render_page(request, "memories/trace.html", context)


def datetime_local_value(timestamp: datetime) -> str:
    """A timestamp as the value of a datetime-local input."""
    return timestamp.replace(tzinfo=None).isoformat(timespec="seconds")


def poll_url(namespace: Namespace, filters: dict[str, str], newest: UUID) -> str:
    """URL that returns traces newer than a given one."""
    return f"{reverse('traces-new', args=[namespace.slug])}?{urlencode(filters | {'after': str(newest)})}"


def trace_rows(namespace: Namespace, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows with caller and latency bar; a full bar is a retriever's time budget."""
    budget_ms = settings.RECALL_RETRIEVER_MS
    return [
        {"trace": row, "who": who, "width": min(100.0, 100 * row.took / budget_ms), "slow": row.took > budget_ms}
        for row, who in zip(rows, trace_key_names(namespace, rows), strict=True)
    ]


def latency_summary(rows: Sequence[Any]) -> dict[str, Any]:
    """Abstentions, median and maximum latency of some traces."""
    took = [row.took for row in rows] or [0.0]
    return {"abstained": sum(row.abstained for row in rows), "median": median(took), "slowest": max(took)}


def trace_key_names(namespace: Namespace, rows: Iterable[Trace]) -> list[str]:
    """Names of the API keys of some traces; empty for signed-in users."""
    ids = [row.api_key_id for row in rows]
    names = dict(ApiKey.objects.within(namespace).filter(id__in={id for id in ids if id}).values_list("id", "name"))
    return [names.get(id, "") if id else "" for id in ids]
