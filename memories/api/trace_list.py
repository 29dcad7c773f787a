"""The list of traces, newest first, with filters."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.models import Trace
from memories.models.choices import Role
from memories.web.pagination import page_schema, paginate
from memories.web.trace_filters import CALLER_KINDS, TraceQuery, filter_traces


class TraceProfileSerializer(serializers.Serializer[Any]):
    """The profile of a trace."""

    name = serializers.CharField(allow_null=True, help_text="null: a system with its defaults, no profile")
    version = serializers.IntegerField(allow_null=True)


class TraceRowSerializer(serializers.Serializer[Trace]):
    """One row of the trace list."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    query = serializers.CharField()
    system = serializers.CharField()
    profile = serializers.SerializerMethodField()
    abstained = serializers.BooleanField()
    best_score = serializers.FloatField(allow_null=True, help_text="null: no results")
    results = serializers.IntegerField(help_text="number of results")
    took_ms = serializers.FloatField(source="took", help_text="total latency")
    requested_by = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ChoiceField(choices=CALLER_KINDS))
    def get_requested_by(self, trace: Trace) -> str:
        """An agent has an API key; a person is signed in."""
        return "agent" if trace.api_key_id else "person"

    @extend_schema_field(TraceProfileSerializer)
    def get_profile(self, trace: Trace) -> dict[str, Any]:
        """The profile's name and version."""
        return {"name": trace.request.get("profile") or None, "version": trace.request.get("version")}


class TracesView(NamespacedView):
    """The traces of a namespace."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="traces",
        parameters=[TraceQuery],
        responses=page_schema("TracePage", TraceRowSerializer),
        tags=["retrieval"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List traces, newest first; `traces/{id}/` returns one in full."""
        query = TraceQuery.from_request(request)
        traces = paginate(request, self.namespace, filter_traces(self.namespace, query), query, by_id=True)
        return Response(traces.to_dict(TraceRowSerializer))
