"""Shadow traffic over REST: run a version on real queries and compare it with the published one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.models import Shadow
from memories.models.choices import Role
from memories.tuning import shadow, version_history
from memories.web.profile_bodies import ShadowRequest
from memories.web.serializers import QueryString


class ShadowDifferenceSerializer(serializers.Serializer[Any]):
    """A query whose results differ."""

    trace = serializers.UUIDField()
    jaccard = serializers.FloatField()
    rbo = serializers.FloatField()


class ShadowReportSerializer(serializers.Serializer[Any]):
    """How the shadow's results differ from the served ones."""

    compared = serializers.IntegerField()
    changed = serializers.IntegerField()
    jaccard = serializers.FloatField(allow_null=True, help_text="mean over the top 10")
    rbo = serializers.FloatField(allow_null=True, help_text="rank-biased overlap, p = .9")
    newly_abstained = serializers.IntegerField(help_text="answered by the published version, abstained by the shadow")
    newly_answered = serializers.IntegerField(help_text="abstained by the published version, answered by the shadow")
    live = serializers.IntegerField(help_text="run live, because the candidates differ")
    took_ms = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="median latency of live runs: published, shadow"
    )
    rank_ms = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="median ranking time: published, shadow"
    )
    judged = serializers.IntegerField(help_text="queries with judgements")
    won = serializers.IntegerField(help_text="of those, better by nDCG@10")
    lost = serializers.IntegerField(help_text="of those, worse by nDCG@10")
    most_changed = ShadowDifferenceSerializer(many=True)


class ShadowSerializer(serializers.Serializer[Any]):
    """The shadow version and its report."""

    version = serializers.UUIDField(allow_null=True, help_text="null: no shadow")
    percent = serializers.IntegerField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    report = ShadowReportSerializer(allow_null=True)


class ProfileShadowView(NamespacedView):
    """The shadow of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.ADMIN, "DELETE": Role.ADMIN}

    @extend_schema(operation_id="shadow", responses=ShadowSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str) -> Response:
        """Report how the shadow's results differ from the served ones, over the newest 2,000 queries."""
        QueryString.from_request(request)
        return Response(shadow_to_dict(shadow.active_shadow(self.namespace)))

    @extend_schema(operation_id="start_shadow", request=ShadowRequest, responses=ShadowSerializer, tags=["profiles"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Run a version on a share of the queries, in the background; agents never see its results."""
        body = ShadowRequest.from_request(request)
        version = version_history.find_version(self.namespace, body["version"])
        if version is None:
            message = f"must be a profile version of this namespace; got {body['version']}"
            raise ValidationError({"version": [message]})
        return Response(
            shadow_to_dict(shadow.create_shadow(self.namespace, version, body["percent"], by=self.access.caller))
        )

    @extend_schema(operation_id="end_shadow", request=None, responses={200: ShadowSerializer}, tags=["profiles"])
    def delete(self, request: Request, namespace: str) -> Response:
        """Stop the shadow."""
        shadow.delete_shadow(self.namespace)
        return Response(shadow_to_dict(None))


def shadow_to_dict(row: Shadow | None) -> Any:
    """A shadow and its report as JSON."""
    if row is None:
        return {"version": None, "percent": None, "since": None, "report": None}
    result = {
        "version": row.version_id,
        "percent": row.percent,
        "since": row.since,
        "report": shadow.shadow_report(row),
    }
    return ShadowSerializer(result).data
