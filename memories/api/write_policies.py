"""Write policies over REST: versions, preview and publication."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer, start_job
from memories.models import WritePolicy, WritePolicyVersion
from memories.models.choices import JobKind, Role
from memories.tuning import policy_versions
from memories.web.fields import Flag, JsonObject, OneOf, Text
from memories.web.http_errors import params_validation_error
from memories.web.profile_bodies import policy_version_or_404
from memories.web.serializers import QueryString, StrictObject
from memories.writing.recompute import preview_policy
from scoring import policy
from scoring.params import ParamsError


class NewPolicyVersion(StrictObject):
    """A new policy version."""

    name = Text(max_length=100, default="default")
    preset = OneOf(choices=list(policy.PRESETS), required=False, help_text="a domain's preset; params win over it")
    params = JsonObject(
        default=dict, help_text="write parameters that differ from the defaults; GET systems/ lists them all"
    )
    note = Text(max_length=2_000, allow_blank=True, default="")


class PublishPolicySerializer(StrictObject):
    """Publication options."""

    recompute = Flag(default=False, help_text="also recompute stored memories, as a job")
    note = Text(max_length=2_000, allow_blank=True, default="")


class PolicyVersionSerializer(serializers.Serializer[WritePolicyVersion]):
    """One version of a write policy."""

    id = serializers.UUIDField()
    number = serializers.IntegerField()
    params = serializers.DictField()
    note = serializers.CharField(allow_blank=True)
    parent_id = serializers.UUIDField(allow_null=True, help_text="the version before it")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_blank=True)


class WritePolicySerializer(serializers.Serializer[WritePolicy]):
    """A write policy with its versions, newest first."""

    name = serializers.CharField()
    versions = PolicyVersionSerializer(many=True)


class PoliciesSerializer(serializers.Serializer[Any]):
    """All write policies of a namespace, and the published version."""

    serving = serializers.UUIDField(allow_null=True, help_text="the published version; null: the defaults")
    results = WritePolicySerializer(many=True)


class HistogramBinSerializer(serializers.Serializer[Any]):
    """One histogram bin: memories with a similar change."""

    change = serializers.FloatField()
    memories = serializers.IntegerField()


class LargestChangeSerializer(serializers.Serializer[Any]):
    """One of the largest changes."""

    memory = serializers.UUIDField()
    before = serializers.FloatField()
    after = serializers.FloatField()


class ScoreDifferenceSerializer(serializers.Serializer[Any]):
    """How one score would change."""

    changed = serializers.IntegerField(help_text="number of memories")
    mean_before = serializers.FloatField(allow_null=True)
    mean_after = serializers.FloatField(allow_null=True)
    histogram = HistogramBinSerializer(many=True)
    largest = LargestChangeSerializer(many=True)


class ThresholdCrossingSerializer(serializers.Serializer[Any]):
    """Memories that cross the high-confidence threshold."""

    threshold = serializers.FloatField()
    rise_above = serializers.IntegerField()
    fall_below = serializers.IntegerField()


class PolicyPreviewSerializer(serializers.Serializer[Any]):
    """The effect of a version on stored memories; nothing is written."""

    memories = serializers.IntegerField(help_text="active memories")
    confidence = ScoreDifferenceSerializer()
    belief = ScoreDifferenceSerializer()
    high_confidence = ThresholdCrossingSerializer()


class PolicyPublicationSerializer(serializers.Serializer[Any]):
    """The published version, and the recompute job if one was requested."""

    version = PolicyVersionSerializer()
    job = JobSerializer(allow_null=True)


class WritePoliciesView(NamespacedView):
    """The write policies of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.ADMIN}

    @extend_schema(operation_id="policies", responses=PoliciesSerializer, tags=["policies"])
    def get(self, request: Request, namespace: str) -> Response:
        """List the write policies and their versions."""
        QueryString.from_request(request)
        versions = WritePolicyVersion.objects.within(self.namespace).order_by("-number")
        policies_with_versions = (
            WritePolicy.objects.within(self.namespace).order_by("name").prefetch_related(Prefetch("versions", versions))
        )
        serving = self.namespace.serving
        result = {"serving": serving.policy_version_id if serving else None, "results": policies_with_versions}
        return Response(PoliciesSerializer(result).data)

    @extend_schema(
        operation_id="add_policy_version",
        request=NewPolicyVersion,
        responses={201: PolicyVersionSerializer},
        tags=["policies"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Save the next version of a policy; it takes effect once it is published."""
        body = NewPolicyVersion.from_request(request)
        body["params"] = {**policy.PRESETS.get(body.pop("preset", ""), {}), **body["params"]}
        try:
            version = policy_versions.add_policy_version(self.namespace, by=self.access.caller, **body)
        except ParamsError as error:
            raise params_validation_error(error) from error
        return Response(PolicyVersionSerializer(version).data, status=201)


class PolicyPreviewView(NamespacedView):
    """Preview of a version."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="preview_policy", responses=PolicyPreviewSerializer, tags=["policies"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Return how many stored memories a version would change, and by how much."""
        QueryString.from_request(request)
        version = policy_version_or_404(self.namespace, id)
        return Response(preview_policy(self.namespace, policy.WritePolicyParams.of(version.params)))


class PolicyPublishView(NamespacedView):
    """Publication of a version."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="publish_policy",
        request=PublishPolicySerializer,
        responses=PolicyPublicationSerializer,
        tags=["policies"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Publish a version and, if requested, start the recompute job: both or neither."""
        body, version = PublishPolicySerializer.from_request(request), policy_version_or_404(self.namespace, id)
        with transaction.atomic():
            policy_versions.publish_policy(self.namespace, version.id, note=body["note"], by=self.access.caller)
            job = start_job(self, JobKind.RECOMPUTE, {"version": str(version.id)}) if body["recompute"] else None
        return Response(PolicyPublicationSerializer({"version": version, "job": job}).data)
