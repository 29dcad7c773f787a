"""Public registry of scoring systems and parameters."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from scoring.params import SCOPES, Choice, Number, Params, Switch
from scoring.policy import PRESETS, WritePolicyParams
from scoring.systems import SYSTEMS


class InertSerializer(serializers.Serializer[dict[str, Any]]):
    """A condition under which a parameter cannot move a result."""

    reason = serializers.CharField()
    when = serializers.DictField(
        child=serializers.ListField(child=serializers.JSONField()),
        help_text="every one of these parameters has one of these values",
    )


class ParameterSerializer(serializers.Serializer[dict[str, Any]]):
    """One declared parameter."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=[kind.kind for kind in (Number, Choice, Switch)])
    default = serializers.JSONField(help_text="a number, one of the options, or a boolean")
    low = serializers.FloatField(required=False)
    high = serializers.FloatField(required=False)
    step = serializers.FloatField(required=False)
    log = serializers.BooleanField(required=False, help_text="whether a slider should use a log scale")
    unit = serializers.CharField(required=False, allow_blank=True)
    options = serializers.ListField(child=serializers.CharField(), required=False)
    scope = serializers.ChoiceField(choices=list(SCOPES.items()))
    group = serializers.CharField()
    affects = serializers.CharField()
    source = serializers.CharField(help_text="where it comes from")  # type: ignore[assignment]
    inert_while = InertSerializer(many=True, help_text="the conditions under which it cannot move a result")


class SystemSerializer(serializers.Serializer[dict[str, Any]]):
    """One scoring system."""

    name = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    summary = serializers.CharField()
    retrievers = serializers.ListField(child=serializers.CharField())
    presets = serializers.DictField(child=serializers.DictField())
    outputs = serializers.ListField(child=serializers.CharField())
    parameters = ParameterSerializer(many=True)


class PolicySerializer(serializers.Serializer[dict[str, Any]]):
    """The write policy."""

    presets = serializers.DictField(child=serializers.DictField())
    parameters = ParameterSerializer(many=True)


class RegistrySerializer(serializers.Serializer[dict[str, Any]]):
    """All systems and the write policy, with their parameters."""

    systems = SystemSerializer(many=True)
    write_policy = PolicySerializer()


class SystemsView(APIView):
    """All systems and parameters, with bounds, scope and source."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(operation_id="systems", responses=RegistrySerializer, tags=["systems"])
    def get(self, request: Request) -> Response:
        """List the scoring systems and their parameters."""
        systems = [
            {
                "name": system.name,
                "source": system.source,
                "summary": system.summary,
                "retrievers": system.retrievers,
                "presets": system.presets,
                "outputs": list(system.outputs),
                "parameters": params_to_dicts(system.params),
            }
            for system in SYSTEMS.values()
        ]
        policy = {"presets": PRESETS, "parameters": params_to_dicts(WritePolicyParams)}
        return Response(RegistrySerializer({"systems": systems, "write_policy": policy}).data)


def params_to_dicts(params: type[Params]) -> list[dict[str, Any]]:
    """The declarations of a parameter set as dicts."""
    return [
        {
            "name": name,
            "kind": declaration.kind,
            **vars(declaration),
            "inert_while": [vars(inert) for inert in params.inert if name in inert.names],
        }
        for name, declaration in params.declarations().items()
    ]
