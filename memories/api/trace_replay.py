"""One trace, and its replay: the same candidates ranked under other parameters."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.contract_serializers import ParamValueField, serializer_of
from memories.contracts.answer import ReplayAnswer, TracedAnswer
from memories.contracts.trace import TracePlan, TraceRequest
from memories.models import Trace
from memories.models.choices import Role
from memories.retrieval.answer import build_answer
from memories.retrieval.config import override_params, resolve_config
from memories.retrieval.query import Config
from memories.retrieval.replay import replay
from memories.retrieval.trace import config_from_trace, redact_forgotten
from memories.web.fields import Identifier, JsonObject, OneOf, Text
from memories.web.http_errors import params_validation_error
from memories.web.ranking_choice import PRESET_HELP, check_preset
from memories.web.serializers import QueryString, StrictObject
from memories.web.trace_filters import trace_or_404
from scoring.params import ParamsError
from scoring.systems import SYSTEMS


class ReplayRequestSerializer(StrictObject):
    """A trace and the configuration of its replay."""

    trace = Identifier()
    system = OneOf(choices=list(SYSTEMS), required=False, help_text="a system other than the trace's runs live")
    preset = Text(max_length=100, required=False, help_text=f"{PRESET_HELP}. Default system: the trace's")
    params = JsonObject(default=dict, help_text="overrides of the trace's parameters, or of the system's defaults")
    explain = OneOf(choices=["none", "parts", "full"], default="parts")


@extend_schema_field(serializer_of(TraceRequest))
class TraceRequestField(serializers.DictField):
    """The options of a traced query, as stored."""


@extend_schema_field(serializer_of(TracePlan))
class TracePlanField(serializers.DictField):
    """The plan of a traced query, as stored."""


class TraceSerializer(serializers.Serializer[Trace]):
    """One retrieval: query, configuration and response."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    as_of = serializers.DateTimeField(help_text="the time it was answered as of")
    query = serializers.CharField()
    request = TraceRequestField()
    system = serializers.CharField()
    params = serializers.DictField(child=ParamValueField(), help_text="non-default parameters")
    plan = TracePlanField()
    candidates = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    took_ms = serializers.DictField(child=serializers.FloatField())

    def get_candidates(self, trace: Trace) -> int:
        """The number of ranked memories."""
        return len(trace.candidates)

    @extend_schema_field(serializer_of(TracedAnswer))
    def get_answer(self, trace: Trace) -> dict[str, Any]:
        """The response as served."""
        return redact_forgotten(trace).to_dict()


class TraceView(NamespacedView):
    """One trace."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="trace", responses=TraceSerializer, tags=["retrieval"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a trace: query, configuration and response."""
        QueryString.from_request(request)
        return Response(TraceSerializer(trace_or_404(self.namespace, id)).data)


class ReplayView(NamespacedView):
    """Replay of a trace."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="replay",
        request=ReplayRequestSerializer,
        responses=serializer_of(ReplayAnswer),
        tags=["retrieval"],
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Rank the candidates of a trace under other parameters, exactly as a live retrieval would.

        Parameters that change the candidates themselves need a new query, and so does MMR that was off. It runs live,
        and the response says so.
        """
        body = ReplayRequestSerializer.from_request(request)
        trace = trace_or_404(self.namespace, body["trace"])
        replayed = replay(trace, replay_config(self, trace, body))
        answer = build_answer(replayed.retrieval, explain=body["explain"], trace=trace.id)
        replay_answer = ReplayAnswer(
            **vars(answer),
            replayed=not replayed.rerun_because,
            live=replayed.rerun_because,
            changed=replayed.changed,
        )
        return Response(replay_answer.to_dict())


def replay_config(view: NamespacedView, trace: Trace, body: dict[str, Any]) -> Config:
    """The trace's own configuration, or a system's with its preset, with parameter overrides."""
    system = body.get("system", trace.system)
    if "preset" in body:
        check_preset(system, body["preset"], at="preset")
    try:
        if "preset" in body or system != trace.system:
            return resolve_config(view.namespace, system=system, preset=body.get("preset", ""), params=body["params"])
        config = config_from_trace(trace)
        return override_params(config, config.system.params.as_requested(body["params"]))
    except ParamsError as error:
        raise params_validation_error(error) from error
