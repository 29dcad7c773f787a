"""The registry of systems and parameters, open to read."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from scoring.params import SCOPES, Choice, Number, Params, Switch
from scoring.policy import PRESETS, WritePolicy
from scoring.systems import SYSTEMS


class ParameterSerializer(serializers.Serializer[dict[str, Any]]):
    """One declared value: what it is, what it may be, what it does."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=[kind.kind for kind in (Number, Choice, Switch)])
    default = serializers.JSONField(help_text="a number, one of the options, or true or false")
    low = serializers.FloatField(required=False)
    high = serializers.FloatField(required=False)
    step = serializers.FloatField(required=False)
    log = serializers.BooleanField(required=False, help_text="whether a slider should move on a log scale")
    unit = serializers.CharField(required=False, allow_blank=True)
    options = serializers.ListField(child=serializers.CharField(), required=False)
    scope = serializers.ChoiceField(choices=list(SCOPES.items()))
    group = serializers.CharField()
    affects = serializers.CharField()
    seed = serializers.CharField(help_text="where it comes from")


class SystemSerializer(serializers.Serializer[dict[str, Any]]):
    """One scoring system."""

    name = serializers.CharField()
    seed = serializers.CharField()
    summary = serializers.CharField()
    routes = serializers.ListField(child=serializers.CharField())
    presets = serializers.DictField(child=serializers.DictField())
    outputs = serializers.ListField(child=serializers.CharField())
    parameters = ParameterSerializer(many=True)


class PolicySerializer(serializers.Serializer[dict[str, Any]]):
    """What counts when a memory is written."""

    presets = serializers.DictField(child=serializers.DictField())
    parameters = ParameterSerializer(many=True)


class RegistrySerializer(serializers.Serializer[dict[str, Any]]):
    """Every system and every declared parameter."""

    systems = SystemSerializer(many=True)
    write_policy = PolicySerializer()


class Systems(APIView):
    """Every system and every declared parameter, with bounds, scope and origin."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(operation_id="systems", responses=RegistrySerializer, tags=["systems"])
    def get(self, request: Request) -> Response:
        """List the scoring systems and what each lets a caller turn."""
        systems = [
            {
                "name": system.name,
                "seed": system.seed,
                "summary": system.summary,
                "routes": system.routes,
                "presets": system.presets,
                "outputs": list(system.outputs),
                "parameters": parameters(system.params),
            }
            for system in SYSTEMS.values()
        ]
        policy = {"presets": PRESETS, "parameters": parameters(WritePolicy)}
        return Response(RegistrySerializer({"systems": systems, "write_policy": policy}).data)


def parameters(params: type[Params]) -> list[dict[str, Any]]:
    """The declarations of a set, ready to be served."""
    return [{"name": name, "kind": one.kind, **vars(one)} for name, one in params.declared().items()]
