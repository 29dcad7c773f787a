"""Which profile serves, over REST: measured, checked, published, rolled back."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import ActingView
from memories.api.fields import Choice, Identifier, Text
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgements import set_named
from memories.api.profiles import PublicationSerializer, version_of
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models.choices import Part, Role
from memories.tuning import evaluations, gate, publishing
from memories.tuning.versions import ANY


class EvaluateSerializer(Object):
    """On what to measure."""

    set = Text(max_length=100, required=False, help_text="a judgement set by name or id; else that with most queries")
    part = Choice(choices=Part.values, required=False, help_text="else all queries")


class PublishProfileSerializer(Object):
    """How to publish."""

    serving = Identifier(
        required=False,
        allow_null=True,
        help_text="the publication that the caller saw, null for none; another one by now is a conflict",
    )
    override = Text(max_length=2_000, required=False, help_text="why it is published in spite of what the gate says")
    note = Text(max_length=2_000, allow_blank=True, default="")


class RollBackSerializer(Object):
    """How to roll back."""

    serving = Identifier(required=False, allow_null=True, help_text="as when publishing")
    note = Text(max_length=2_000, allow_blank=True, default="")


class GateSerializer(serializers.Serializer[Any]):
    """The last check of a version, and what stands against publishing it."""

    job = JobSerializer(allow_null=True, help_text="its result: judge (paired tests) and replay (real questions)")
    objection = serializers.CharField(allow_blank=True, help_text="empty: it may be published")
    code = serializers.ChoiceField(choices=["", "unchecked", "loss"], allow_blank=True)


class ProfileEvaluate(NamespacedView):
    """A measurement of a version."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="evaluate_profile",
        request=EvaluateSerializer,
        responses={202: JobSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Have a version measured on a judgement set, as a job; the version then tells the metrics."""
        version, asked = version_of(self.namespace, id), EvaluateSerializer.of(request)
        judged = set_named(self.namespace, asked.get("set", ""))
        job = evaluations.begin(self.namespace, version, judged, asked.get("part", ""), by=self.access.caller)
        return Response(JobSerializer(job).data, status=202)


class ProfileGate(NamespacedView):
    """What publishing a version would do."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="gate_of_profile", responses=GateSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell what the last check of a version found, and what stands against publishing it."""
        Query.of(request)
        version = version_of(self.namespace, id)
        against = publishing.objection(self.namespace, version)
        told = {
            "job": gate.last(self.namespace, id),
            "objection": str(against or ""),
            "code": getattr(against, "code", ""),
        }
        return Response(GateSerializer(told).data)

    @extend_schema(operation_id="check_profile", request=None, responses={202: JobSerializer}, tags=["profiles"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Hold a version against what serves, on judged queries and on the last 500 real ones, as a job."""
        job = gate.begin(self.namespace, version_of(self.namespace, id), by=self.access.caller)
        return Response(JobSerializer(job).data, status=202)


class ProfilePublish(ActingView):
    """The one act that lets a version serve."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="publish_profile",
        request=PublishProfileSerializer,
        responses=PublicationSerializer,
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Let a version rank from now on. Unchecked, or with a significant loss, it takes a reason to override."""
        version, asked = version_of(self.namespace, id), PublishProfileSerializer.of(request)
        made = publishing.publish(
            self.namespace,
            version,
            by=self.access.caller,
            note=asked["note"],
            override=asked.get("override", ""),
            expected=asked.get("serving", ANY),
        )
        return Response(PublicationSerializer(made).data)


class ProfileRollBack(ActingView):
    """The one act that takes a publication back."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="roll_back_profile",
        request=RollBackSerializer,
        responses=PublicationSerializer,
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Let the version that served before rank again; the write policy stays."""
        asked = RollBackSerializer.of(request)
        made = publishing.roll_back(
            self.namespace, by=self.access.caller, note=asked["note"], expected=asked.get("serving", ANY)
        )
        return Response(PublicationSerializer(made).data)
