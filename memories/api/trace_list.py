"""What agents asked, newest first."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, FloatField, Func, Q
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Flag, Moment, Real, Text, Whole
from memories.api.paging import PageQuery, page, paged
from memories.api.views import NamespacedView
from memories.ids import first_id_at
from memories.models import Namespace, Trace
from memories.models.choices import Role
from memories.models.keys import NamespacedQuerySet
from scoring.systems import SYSTEMS

LONGEST_WAIT = 3_600_000  # milliseconds
ASKERS = ("agent", "person")
# An id is made a moment before its row says when it was; days outside of these have no ids.
BESIDE = timedelta(seconds=1)
FIRST, LAST = datetime(1971, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
# Without the candidates, their signals and the answer, which make a trace long.
SHOWN = ("id", "at", "query", "system", "request", "results", "abstained", "best_score", "api_key_id")


class Total(Func):
    """The sum of an object's numbers."""

    template = "(SELECT coalesce(sum(value::float8), 0) FROM jsonb_each_text(%(expressions)s))"
    output_field = FloatField()


class TraceQuery(PageQuery):
    """Which traces."""

    q = Text(max_length=1_000, required=False, help_text="part of the query's text, in any case")
    system = Choice(choices=list(SYSTEMS), required=False)
    abstained = Flag(in_query=True, required=False, help_text="whether nothing came back")
    slower_than = Whole(
        in_query=True, min_value=0, max_value=LONGEST_WAIT, required=False, help_text="milliseconds, all steps together"
    )
    best_below = Real(in_query=True, required=False, help_text="the best result's score; an empty answer has none")
    asked_by = Choice(choices=list(ASKERS), required=False, help_text="an agent's key, or a person who is signed in")
    since = Moment(required=False, help_text="asked then or later")
    until = Moment(required=False, help_text="asked before")


class TracedProfileSerializer(serializers.Serializer[Any]):
    """The profile of a trace."""

    name = serializers.CharField(allow_null=True, help_text="null: no profile, but a system as it ships")
    version = serializers.IntegerField(allow_null=True)


class TraceRowSerializer(serializers.Serializer[Trace]):
    """One retrieval among others."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    query = serializers.CharField()
    system = serializers.CharField()
    profile = serializers.SerializerMethodField()
    abstained = serializers.BooleanField()
    best_score = serializers.FloatField(allow_null=True, help_text="null: nothing came back")
    results = serializers.IntegerField(help_text="how many came back")
    took_ms = serializers.FloatField(source="took", help_text="all steps together")
    asked_by = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ChoiceField(choices=ASKERS))
    def get_asked_by(self, trace: Trace) -> str:
        """Tell an agent, who has a key, from a person, who is signed in."""
        return "agent" if trace.api_key_id else "person"

    @extend_schema_field(TracedProfileSerializer)
    def get_profile(self, trace: Trace) -> dict[str, Any]:
        """Give the profile's name and version."""
        return {"name": trace.request.get("profile") or None, "version": trace.request.get("version")}


class Traces(NamespacedView):
    """The retrievals of a namespace."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="traces",
        parameters=[TraceQuery],
        responses=paged("TracePage", TraceRowSerializer),
        tags=["retrieval"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List what was asked and how it went, newest first; `traces/{id}/` tells one in full."""
        query = TraceQuery.of(request)
        found = page(request, self.namespace, asked(self.namespace, query), query, by_id=True)
        return Response(found.answer(TraceRowSerializer))


CHOSEN: Mapping[str, Callable[[Any], Q]] = {
    "q": lambda text: Q(query__icontains=text),
    "system": lambda system: Q(system=system),
    "abstained": lambda abstained: Q(abstained=abstained),
    "slower_than": lambda milliseconds: Q(took__gt=milliseconds),
    "best_below": lambda score: Q(best_score__lt=score),
    "asked_by": lambda asker: Q(api_key_id__isnull=asker == "person"),
    # The ids alone tell which days need not be looked at.
    "since": lambda moment: Q(at__gte=moment, id__gte=first_id_at(within_days(moment) - BESIDE)),
    "until": lambda moment: Q(at__lt=moment, id__lt=first_id_at(within_days(moment) + BESIDE)),
}


def asked(namespace: Namespace, query: Mapping[str, Any]) -> NamespacedQuerySet[Trace]:
    """The traces that a query string chooses; what was asked only to compare is no agent's."""
    rows = Trace.objects.within(namespace).filter(shadow=False).only(*SHOWN)
    rows = rows.annotate(took=Total(F("took_ms")))
    chosen = [CHOSEN[name](query[name]) for name in CHOSEN if name in query]
    return rows.filter(*chosen)


def within_days(moment: datetime) -> datetime:
    """The moment, or the nearest for which there are ids."""
    return min(max(moment, FIRST), LAST)
