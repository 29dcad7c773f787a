"""Write policies over REST: versions, what one would change, and which one decides."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Flag, JsonObject, Text
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer, started
from memories.api.refusals import wrong_params
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import WritePolicy, WritePolicyVersion
from memories.models.choices import JobKind, Role
from memories.tuning import policies
from memories.writing.recomputing import preview
from scoring import policy
from scoring.params import ParamsError


class NewPolicyVersion(Object):
    """A setting to be kept."""

    name = Text(max_length=100, default="default")
    params = JsonObject(help_text="write parameters that differ from the shipped ones; GET systems/ declares them all")
    note = Text(max_length=2_000, allow_blank=True, default="")


class PublishSerializer(Object):
    """How to publish."""

    recompute = Flag(default=False, help_text="weigh what is stored by it as well, as a job")
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
    """A write policy with its versions, the newest first."""

    name = serializers.CharField()
    versions = PolicyVersionSerializer(many=True)


class PoliciesSerializer(serializers.Serializer[Any]):
    """All write policies of a namespace, and which version decides."""

    serving = serializers.UUIDField(allow_null=True, help_text="the version that decides; null: the shipped defaults")
    results = WritePolicySerializer(many=True)


class ColumnSerializer(serializers.Serializer[Any]):
    """Memories that change by about as much."""

    change = serializers.FloatField()
    memories = serializers.IntegerField()


class ExampleSerializer(serializers.Serializer[Any]):
    """One of the largest changes."""

    memory = serializers.UUIDField()
    before = serializers.FloatField()
    after = serializers.FloatField()


class DifferenceSerializer(serializers.Serializer[Any]):
    """How one number would change."""

    changed = serializers.IntegerField(help_text="memories")
    mean_before = serializers.FloatField(allow_null=True)
    mean_after = serializers.FloatField(allow_null=True)
    histogram = ColumnSerializer(many=True)
    largest = ExampleSerializer(many=True)


class CrossingSerializer(serializers.Serializer[Any]):
    """Memories that pass the threshold of high confidence."""

    threshold = serializers.FloatField()
    rise_above = serializers.IntegerField()
    fall_below = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Any]):
    """What a version would change of what is stored; nothing is written."""

    memories = serializers.IntegerField(help_text="active ones")
    confidence = DifferenceSerializer()
    belief = DifferenceSerializer()
    high_confidence = CrossingSerializer()


class PublishedSerializer(serializers.Serializer[Any]):
    """A version that decides from now on, and the job that applies it to what is stored, where one was asked for."""

    version = PolicyVersionSerializer()
    job = JobSerializer(allow_null=True)


class Policies(NamespacedView):
    """The write policies of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.ADMIN}

    @extend_schema(operation_id="policies", responses=PoliciesSerializer, tags=["policies"])
    def get(self, request: Request, namespace: str) -> Response:
        """List the write policies and their versions."""
        Query.of(request)
        newest = WritePolicyVersion.objects.within(self.namespace).order_by("-number")
        found = (
            WritePolicy.objects.within(self.namespace).order_by("name").prefetch_related(Prefetch("versions", newest))
        )
        serving = self.namespace.serving
        told = {"serving": serving.policy_version_id if serving else None, "results": found}
        return Response(PoliciesSerializer(told).data)

    @extend_schema(
        operation_id="add_policy_version",
        request=NewPolicyVersion,
        responses={201: PolicyVersionSerializer},
        tags=["policies"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Keep a setting as the next version of a policy; nothing is decided by it until it is published."""
        asked = NewPolicyVersion.of(request)
        try:
            version = policies.add_version(self.namespace, by=self.access.caller, **asked)
        except ParamsError as error:
            raise wrong_params(error) from error
        return Response(PolicyVersionSerializer(version).data, status=201)


class PolicyPreview(NamespacedView):
    """What a version would change."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="preview_policy", responses=PreviewSerializer, tags=["policies"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell how many stored memories a version would change, and by how much."""
        Query.of(request)
        return Response(preview(self.namespace, policy.WritePolicy.of(version_of(self, id).params)))


class PolicyPublish(NamespacedView):
    """The one act that lets a version decide."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="publish_policy", request=PublishSerializer, responses=PublishedSerializer, tags=["policies"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Let a version decide from now on, and weigh what is stored by it where that is asked for: both or neither."""
        asked, version = PublishSerializer.of(request), version_of(self, id)
        with transaction.atomic():
            policies.publish(self.namespace, version.id, note=asked["note"], by=self.access.caller)
            job = started(self, JobKind.RECOMPUTE, {"version": str(version.id)}) if asked["recompute"] else None
        return Response(PublishedSerializer({"version": version, "job": job}).data)


def version_of(view: NamespacedView, id: UUID) -> WritePolicyVersion:
    """Find a version of the view's namespace."""
    version = WritePolicyVersion.objects.within(view.namespace).filter(id=id).first()
    if version is None:
        raise Http404(f"There is no policy version {id} here.")
    return version
