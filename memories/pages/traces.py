"""What agents really asked: newest first, chosen by how it went, coming in while one watches; and each by itself."""

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

from memories.api.fields import Identifier, Moment
from memories.api.paging import page
from memories.api.trace_list import ASKERS, TraceQuery, asked
from memories.api.traces import trace_of
from memories.ids import first_id_at
from memories.models import ApiKey, Namespace, Trace
from memories.pages.access import members_only
from memories.pages.addresses import as_given, complete
from memories.retrieval.readable import readable
from memories.retrieval.retrieve import STEPS
from recall_site.layout import render_page
from recall_site.problems import flat
from scoring.systems import SYSTEMS

AT_ONCE = 50  # new rows in one look
SPAN = ("since", "until")


class Clock(Moment):
    """A point in time as the fields of a browser write it; where no offset is said it is UTC, as the page tells."""

    def to_internal_value(self, value: Any) -> datetime:
        """Read it as the API does, once it has an offset."""
        try:
            bare = parse_datetime(value)
        except ValueError:  # no such day, which the API tells
            bare = None
        return super().to_internal_value(
            bare.replace(tzinfo=UTC).isoformat() if bare and bare.tzinfo is None else value
        )


class ListQuery(TraceQuery):
    """Which traces a person looks at."""

    since = Clock(required=False)
    until = Clock(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a span of time that is over before it begins."""
        since, until = attrs.get("since"), attrs.get("until")
        if since and until and until <= since:
            raise ValidationError({"until": [f"must lie after since ({since.isoformat()}); got {until.isoformat()}"]})
        return attrs


class ArrivalQuery(ListQuery):
    """Which traces, after one that is known."""

    after = Identifier()


@require_GET
@members_only
def traces(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """List what was asked, page by page; the first page goes on by itself."""
    sent = complete(request)
    context: dict[str, Any] = {
        "given": as_given(sent),
        "systems": list(SYSTEMS),
        "askers": ASKERS,
        "full": settings.RECALL_RETRIEVER_MS,
    }
    try:
        query = ListQuery.of(sent)
        found = page(sent, namespace, asked(namespace, query), query, by_id=True)
    except ValidationError as error:
        wrong = list(flat(error.detail))
        status = 200 if getattr(request, "htmx", False) else 400  # htmx shows nothing of a refusal
        return render_page(request, "memories/traces.html", context | {"wrong": wrong}, partial="found", status=status)
    filters = {name: text for name, text in as_given(sent).items() if name not in ("cursor", "limit")}
    now = timezone.now()
    newest = found.rows[0].id if found.rows else first_id_at(now)
    over = "cursor" in query or query.get("until", now) < now  # nothing that comes in belongs here
    context |= {
        "given": context["given"] | {name: as_field(query[name]) for name in SPAN if name in query},
        "found": found,
        "rows": told(namespace, found.rows),
        "summary": summary(found.rows),
        "filters": filters,
        "live": None if over else later(namespace, filters, newest),
        "first": f"{request.path}?{urlencode(filters)}" if filters else request.path,
    }
    return render_page(request, "memories/traces.html", context, partial="found")


@require_GET
@members_only
def arrivals(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """The rows that came since a trace, with the address that asks for the next ones; nothing where there are none."""
    sent = complete(request)
    try:
        query = ArrivalQuery.of(sent)
    except ValidationError:
        return HttpResponse(status=400)
    # The oldest of them first, so that a burst is told over several looks, and nothing is left out.
    new = list(reversed(asked(namespace, query).filter(id__gt=query["after"]).order_by("id")[:AT_ONCE]))
    if not new:
        return HttpResponse(status=204)
    filters = {name: text for name, text in as_given(sent).items() if name != "after"}
    context = {"rows": told(namespace, new), "live": later(namespace, filters, new[0].id), "arrived": True}
    return render_page(request, "memories/traces.html", context, partial="arrived")


@require_GET
@members_only
def trace(request: HttpRequest, namespace: Namespace, id: UUID) -> HttpResponse:
    """One retrieval as it was asked and answered, told from what was kept of it."""
    found = trace_of(namespace, id)
    took = {step: found.took_ms[step] for step in STEPS if step in found.took_ms}
    longest = max(took.values(), default=0) or 1
    asked_for = {
        name: ", ".join(value) if isinstance(value, list) else value
        for name, value in found.request.items()
        if value and name not in ("profile", "version", "as_of")
    }
    context = {
        "trace": found,
        "answer": readable(found),
        "who": callers(namespace, [found])[0],
        "total": sum(took.values()),
        "steps": [(step, ms, 100 * ms / longest) for step, ms in took.items()],
        "candidates": len(found.candidates),
        "asked_for": asked_for,
    }
    return render_page(request, "memories/trace.html", context)


def as_field(moment: datetime) -> str:
    """A moment as a field for one takes it."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


def later(namespace: Namespace, filters: dict[str, str], newest: UUID) -> str:
    """Where to ask for what comes after a trace."""
    return f"{reverse('traces-new', args=[namespace.slug])}?{urlencode(filters | {'after': str(newest)})}"


def told(namespace: Namespace, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows with who asked and how long their bars are: a full one is the time that a retriever is given."""
    full = settings.RECALL_RETRIEVER_MS
    return [
        {"trace": row, "who": who, "width": min(100.0, 100 * row.took / full), "slow": row.took > full}
        for row, who in zip(rows, callers(namespace, rows), strict=True)
    ]


def summary(rows: Sequence[Any]) -> dict[str, Any]:
    """How some retrievals went, all together."""
    took = [row.took for row in rows] or [0.0]
    return {"abstained": sum(row.abstained for row in rows), "median": median(took), "slowest": max(took)}


def callers(namespace: Namespace, rows: Iterable[Trace]) -> list[str]:
    """The names of the keys that asked; a person who is signed in has none."""
    ids = [row.api_key_id for row in rows]
    names = dict(ApiKey.objects.within(namespace).filter(id__in={id for id in ids if id}).values_list("id", "name"))
    return [names.get(id, "") if id else "" for id in ids]
