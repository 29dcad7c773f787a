"""OpenAPI extensions: authentication schemes, the idempotency header and problem responses."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from memories.api.idempotency import HEADER, KEY_PATTERN
from memories.web.serializers import StrictObject

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ProblemErrorSerializer(serializers.Serializer[Any]):
    """One invalid field of a request."""

    at = serializers.CharField(help_text="such as `sources.0.level`, `body`, or a header's name")
    message = serializers.CharField(help_text="what is allowed, and what was received")


class ProblemSerializer(serializers.Serializer[Any]):
    """An error as problem+json (RFC 9457)."""

    status = serializers.IntegerField()
    title = serializers.CharField()
    code = serializers.CharField(help_text="stable identifier for programs; texts may change")
    detail = serializers.CharField()
    errors = ProblemErrorSerializer(many=True)  # type: ignore[assignment]
    request_id = serializers.CharField(help_text="id of the request in the server's log")


class NamespacedSchema(AutoSchema):
    """The schema of a namespaced view: its responses, or a problem."""

    def get_override_parameters(self) -> list[Any]:
        method = getattr(self.view, self.method.lower())
        if not getattr(method, "idempotent", False):
            return []
        description = "1 to 200 visible characters. Repeating a request with its key within a day replays the response."
        schema = {"type": "string", "pattern": f"^{KEY_PATTERN.pattern}$"}
        return [OpenApiParameter(HEADER, schema, OpenApiParameter.HEADER, description=description)]

    def _get_format_parameters(self) -> list[Any]:
        return []  # where a view has two renderers, the second is for problems only

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        problem = OpenApiResponse(ProblemSerializer, "The error and the fields that caused it.")
        default: Any = self._get_response_for_code(problem, "default", [PROBLEM_MEDIA_TYPE], direction)  # type: ignore[no-untyped-call]
        retry_after = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}}
        too_many = {**default, "description": "The rate limit is exceeded.", "headers": retry_after}
        return bodies | {"429": too_many, "default": default}


class StrictObjectSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A body that rejects unknown fields."""

    target_class = StrictObject
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema: Any = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # type: ignore[no-untyped-call]
        return {**schema, "additionalProperties": False}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An API key in the Authorization header."""

    target_class = "memories.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "An API key of the namespace, `rk_…`"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session cookie of a signed-in member."""

    target_class = "memories.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
