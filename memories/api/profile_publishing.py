"""Publication of profiles over REST: evaluate, check, publish, roll back."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.api.profile_versions import PublicationSerializer
from memories.api.write_errors import WriteView
from memories.jobs import tuning_jobs
from memories.models.choices import Role
from memories.tuning import gate, profile_publication
from memories.tuning.versions import ANY_PUBLICATION
from memories.web.fields import Identifier, Text
from memories.web.judgement_lookups import find_judgement_set
from memories.web.profile_bodies import EvaluateProfileSerializer, PublishProfileSerializer, profile_version_or_404
from memories.web.serializers import QueryString, StrictObject


class RollBackSerializer(StrictObject):
    """Rollback options."""

    serving = Identifier(required=False, allow_null=True, help_text="as for publishing")
    note = Text(max_length=2_000, allow_blank=True, default="")


class GateSerializer(serializers.Serializer[Any]):
    """The last check of a version, and the gate's objection to publishing it."""

    job = JobSerializer(allow_null=True, help_text="its result: judge (paired tests) and replay (logged queries)")
    objection = serializers.CharField(allow_blank=True, help_text="empty: it may be published")
    code = serializers.ChoiceField(choices=["", "unchecked", "loss"], allow_blank=True)


class ProfileEvaluateView(NamespacedView):
    """Evaluation of a version."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="evaluate_profile",
        request=EvaluateProfileSerializer,
        responses={202: JobSerializer},
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Evaluate a version on a judgement set, as a job; the version then shows the metrics."""
        version, body = profile_version_or_404(self.namespace, id), EvaluateProfileSerializer.from_request(request)
        judgement_set = find_judgement_set(self.namespace, body.get("set", ""))
        job = tuning_jobs.submit_evaluation_job(
            self.namespace, version, judgement_set, body.get("split", ""), by=self.access.caller
        )
        return Response(JobSerializer(job).data, status=202)


class ProfileGateView(NamespacedView):
    """The gate before publication."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(operation_id="gate_of_profile", responses=GateSerializer, tags=["profiles"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read the last check of a version, and the gate's objection to publishing it."""
        QueryString.from_request(request)
        version = profile_version_or_404(self.namespace, id)
        objection = profile_publication.publication_refusal(self.namespace, version)
        result = {
            "job": gate.latest_gate_job(self.namespace, id),
            "objection": str(objection or ""),
            "code": getattr(objection, "code", ""),
        }
        return Response(GateSerializer(result).data)

    @extend_schema(operation_id="check_profile", request=None, responses={202: JobSerializer}, tags=["profiles"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Compare a version with the published one on judged queries and on the last 500 logged ones, as a job."""
        version = profile_version_or_404(self.namespace, id)
        job = tuning_jobs.submit_gate_job(self.namespace, version, by=self.access.caller)
        return Response(JobSerializer(job).data, status=202)


class ProfilePublishView(WriteView):
    """Publication of a version."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="publish_profile",
        request=PublishProfileSerializer,
        responses=PublicationSerializer,
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Publish a version. If it is unchecked or has a significant loss, an override reason is required."""
        version, body = profile_version_or_404(self.namespace, id), PublishProfileSerializer.from_request(request)
        publication = profile_publication.publish_profile(
            self.namespace,
            version,
            by=self.access.caller,
            note=body["note"],
            override=body.get("override", ""),
            expected=body.get("serving", ANY_PUBLICATION),
        )
        return Response(PublicationSerializer(publication).data)


class ProfileRollBackView(WriteView):
    """Rollback of a publication."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(
        operation_id="roll_back_profile",
        request=RollBackSerializer,
        responses=PublicationSerializer,
        tags=["profiles"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Publish the previous version again; the write policy stays."""
        body = RollBackSerializer.from_request(request)
        publication = profile_publication.roll_back_version(
            self.namespace, by=self.access.caller, note=body["note"], expected=body.get("serving", ANY_PUBLICATION)
        )
        return Response(PublicationSerializer(publication).data)
