"""The shadow over REST: a version that follows real traffic, and how it differs from what serves."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Identifier, Whole
from memories.api.idempotency import idempotent
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import Shadow
from memories.models.choices import Role
from memories.tuning import histories, shadow


class CastShadow(Object):
    """Which version follows, and how much of what is asked."""

    version = Identifier()
    percent = Whole(min_value=1, max_value=100, default=10, help_text="of the traces that are answered again")


class ChangedSerializer(serializers.Serializer[Any]):
    """A question that would be answered otherwise."""

    trace = serializers.UUIDField()
    jaccard = serializers.FloatField()
    rbo = serializers.FloatField()


class ReportSerializer(serializers.Serializer[Any]):
    """How a shadow's answers differ from those that were told."""

    compared = serializers.IntegerField()
    changed = serializers.IntegerField()
    jaccard = serializers.FloatField(allow_null=True, help_text="of the first ten, on average")
    rbo = serializers.FloatField(allow_null=True, help_text="rank-biased overlap, p = .9")
    newly_silent = serializers.IntegerField(help_text="answered by what serves, not by the shadow")
    newly_answered = serializers.IntegerField(help_text="the other way round")
    live = serializers.IntegerField(help_text="asked again, since the candidates are others")
    took_ms = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="medians of those: what serves, the shadow"
    )
    rank_ms = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="medians of the ranking: what serves, the shadow"
    )
    judged = serializers.IntegerField(help_text="questions that somebody has judged")
    won = serializers.IntegerField(help_text="of those, by nDCG@10")
    lost = serializers.IntegerField()
    most_changed = ChangedSerializer(many=True)


class ShadowSerializer(serializers.Serializer[Any]):
    """A version that follows real traffic."""

    version = serializers.UUIDField(allow_null=True, help_text="null: there is no shadow")
    percent = serializers.IntegerField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    report = ReportSerializer(allow_null=True)


class ProfileShadow(NamespacedView):
    """The shadow of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.ADMIN, "DELETE": Role.ADMIN}

    @extend_schema(operation_id="shadow", responses=ShadowSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str) -> Response:
        """Tell how the shadow's answers differ from those that were told, over the newest 2,000."""
        Query.of(request)
        return Response(told(shadow.of(self.namespace)))

    @extend_schema(operation_id="cast_shadow", request=CastShadow, responses=ShadowSerializer, tags=["profiles"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Let a version answer a share of what is asked from now on, in the background; no agent sees it."""
        asked = CastShadow.of(request)
        version = histories.found(self.namespace, asked["version"])
        if version is None:
            wrong = f"must be a profile version of this namespace; got {asked['version']}"
            raise ValidationError({"version": [wrong]})
        return Response(told(shadow.cast(self.namespace, version, asked["percent"], by=self.access.caller)))

    @extend_schema(operation_id="end_shadow", request=None, responses={200: ShadowSerializer}, tags=["profiles"])
    def delete(self, request: Request, namespace: str) -> Response:
        """Have no shadow any more."""
        shadow.end(self.namespace)
        return Response(told(None))


def told(cast: Shadow | None) -> Any:
    """A shadow and its report, as the API tells it."""
    if cast is None:
        return {"version": None, "percent": None, "since": None, "report": None}
    found = {"version": cast.version_id, "percent": cast.percent, "since": cast.since, "report": shadow.report(cast)}
    return ShadowSerializer(found).data
