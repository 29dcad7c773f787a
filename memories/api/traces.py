"""What was answered, and the same candidates under other parameters."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Identifier, JsonObject
from memories.api.refusals import wrong_params
from memories.api.retrieval import AnswerSerializer
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import Namespace, Trace
from memories.models.choices import Role
from memories.retrieval.answer import told
from memories.retrieval.query import Setting
from memories.retrieval.readable import readable
from memories.retrieval.replaying import replay
from memories.retrieval.settings import setting, with_params
from memories.retrieval.tracing import setting_of
from scoring.params import ParamsError
from scoring.systems import SYSTEMS


class ReplaySerializer(Object):
    """A trace, and by what to rank it now."""

    trace = Identifier()
    system = Choice(choices=list(SYSTEMS), required=False, help_text="another one is asked live")
    params = JsonObject(default=dict, help_text="on top of those of the trace; with a system, of its defaults")
    explain = Choice(choices=["none", "parts", "full"], default="parts")


class ReplayedSerializer(AnswerSerializer):
    """The trace's candidates under other parameters."""

    replayed = serializers.BooleanField(help_text="false: asked live, because of what stands in `live`")
    live = serializers.ListField(child=serializers.CharField(), help_text="what decides about the candidates")
    changed = serializers.ListField(
        child=serializers.UUIDField(), help_text="candidates whose vector is another now, or that are gone"
    )


class TraceSerializer(serializers.Serializer[Trace]):
    """One retrieval, as asked and as answered."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    as_of = serializers.DateTimeField(help_text="the moment it took for now")
    query = serializers.CharField()
    request = serializers.DictField()
    system = serializers.CharField()
    params = serializers.DictField(help_text="those that were given")
    plan = serializers.DictField()
    candidates = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    took_ms = serializers.DictField(child=serializers.FloatField())

    def get_candidates(self, trace: Trace) -> int:
        """Say how many memories were ranked."""
        return len(trace.candidates)

    @extend_schema_field(
        serializers.DictField(help_text="as it was told, without the words of those in `gone`: forgotten since")
    )
    def get_answer(self, trace: Trace) -> dict[str, Any]:
        """Tell what was answered."""
        return readable(trace)


class TraceDetail(NamespacedView):
    """One retrieval."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="trace", responses=TraceSerializer, tags=["retrieval"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Give what was asked and what was answered."""
        Query.of(request)
        return Response(TraceSerializer(trace_of(self.namespace, id)).data)


class Replay(NamespacedView):
    """A trace ranked again."""

    roles = {"POST": Role.READ}

    @extend_schema(operation_id="replay", request=ReplaySerializer, responses=ReplayedSerializer, tags=["retrieval"])
    def post(self, request: Request, namespace: str) -> Response:
        """Rank the candidates of a trace under other parameters, exactly as a live retrieval would.

        A parameter that decides about the candidates themselves is asked live, and the answer says so.
        """
        asked = ReplaySerializer.of(request)
        trace = trace_of(self.namespace, asked["trace"])
        done = replay(trace, ranked_by(self, trace, asked))
        answer = {**told(done.retrieval, explain=asked["explain"]), "trace": trace.id}
        told_of = {"replayed": not done.live, "live": done.live, "changed": done.changed}
        return Response(answer | told_of)


def trace_of(namespace: Namespace, id: UUID) -> Trace:
    """Find a trace of a namespace."""
    trace = Trace.objects.within(namespace).filter(id=id).select_related("namespace").first()
    if trace is None:
        raise Http404(f"There is no trace {id} here.")
    return trace


def ranked_by(view: NamespacedView, trace: Trace, asked: dict[str, Any]) -> Setting:
    """The trace's own setting or that of a system, with the given parameters on top."""
    try:
        if "system" in asked and asked["system"] != trace.system:
            return setting(view.namespace, system=asked["system"], params=asked["params"])
        return with_params(setting_of(trace), asked["params"])
    except ParamsError as error:
        raise wrong_params(error) from error
