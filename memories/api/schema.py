"""How the API describes itself: keys and cookies, the idempotency header, and problems beside every answer."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from memories.api.idempotency import ACCEPTABLE, HEADER
from memories.api.serializers import Object

PROBLEM = "application/problem+json"


class ProblemErrorSerializer(serializers.Serializer[Any]):
    """One place of a request, and what is wrong there."""

    at = serializers.CharField(help_text="such as `sources.0.level`, `body`, or a header's name")
    message = serializers.CharField(help_text="what is allowed, and what came")


class ProblemSerializer(serializers.Serializer[Any]):
    """A failure, after RFC 9457."""

    status = serializers.IntegerField()
    title = serializers.CharField()
    code = serializers.CharField(help_text="for programs; it stays while the words may change")
    detail = serializers.CharField()
    errors = ProblemErrorSerializer(many=True)  # type: ignore[assignment]
    request_id = serializers.CharField(help_text="under which the server's log tells more")


class NamespacedSchema(AutoSchema):
    """A view of a namespace: its answers, or a problem."""

    def get_override_parameters(self) -> list[Any]:
        method = getattr(self.view, self.method.lower())
        if not getattr(method, "idempotent", False):
            return []
        told = "Any 1 to 200 visible characters. The same key and request within a day gets the same answer again."
        allowed = {"type": "string", "pattern": f"^{ACCEPTABLE.pattern}$"}
        return [OpenApiParameter(HEADER, allowed, OpenApiParameter.HEADER, description=told)]

    def _get_format_parameters(self) -> list[Any]:
        return []  # an address with two renderers has the second for its problems alone

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        problem = OpenApiResponse(ProblemSerializer, "What went wrong, and where.")
        told: Any = self._get_response_for_code(problem, "default", [PROBLEM], direction)  # type: ignore[no-untyped-call]
        wait = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}
        often = {**told, "description": "The caller asked more often than it may.", "headers": wait}
        return bodies | {"429": often, "default": told}


class ClosedObject(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A body that refuses what it does not know."""

    target_class = Object
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        told: Any = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # type: ignore[no-untyped-call]
        return {**told, "additionalProperties": False}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A key in the header."""

    target_class = "memories.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A key of the namespace, `rk_…`"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The cookie of a sign-in."""

    target_class = "memories.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
