"""Feedback on stored memories: confirm, rate, correct, contradict, split; and the history of their scores."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.memories import SCORES_HELP, MemorySerializer, OutcomeSerializer
from memories.api.write_errors import WriteView
from memories.models import Memory, ScoreEvent
from memories.models.choices import Role
from memories.web.evidence_bodies import (
    ContradictionSerializer,
    CorrectionSerializer,
    contradict_from_body,
    correct_from_body,
)
from memories.web.fields import Flag
from memories.web.memory_filters import visible_statuses
from memories.web.serializers import StrictObject
from memories.writing import feedback
from memories.writing.evidence import EvidenceState
from memories.writing.merge import split_memory


class MemoryChangeSerializer(serializers.Serializer[EvidenceState]):
    """A memory after a change, with the explanation of its scores."""

    memory = MemorySerializer()
    explanation = serializers.DictField(help_text="of the confidence")
    scores = serializers.DictField(child=serializers.DictField(), help_text=f"{SCORES_HELP}; utility after feedback")


class FeedbackSerializer(StrictObject):
    """Feedback on a memory."""

    useful = Flag()


class CorrectionOutcomeSerializer(OutcomeSerializer):
    """The outcome of a correction, and the corrected memory."""

    corrected = MemorySerializer(
        help_text="superseded; still active if the correction starts later or was itself rejected"
    )


class ContradictionOutcomeSerializer(serializers.Serializer[Any]):
    """Both memories of a contradiction."""

    changed = serializers.BooleanField(help_text="false if the contradiction was already recorded: belief drops once")
    memory = MemorySerializer()
    other = MemorySerializer()


class SplitOutcomeSerializer(serializers.Serializer[Any]):
    """A memory that is active again, and the survivor it had been merged into."""

    memory = MemorySerializer()
    survivor = MemorySerializer()


class ScoreEventSerializer(serializers.Serializer[Any]):
    """One change of a memory's scores, and its cause."""

    at = serializers.DateTimeField()
    cause = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    parts = serializers.DictField(help_text="explanation of the new value, and the reason given")
    other = serializers.UUIDField(source="other_id", allow_null=True, help_text="the memory that caused it")
    by = serializers.CharField(allow_blank=True)


class ScoreHistorySerializer(serializers.Serializer[Any]):
    """Every change of one memory, oldest first."""

    results = ScoreEventSerializer(many=True)


class ConfirmView(WriteView):
    """Confirmation of a memory by a user."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="confirm", request=None, responses=MemoryChangeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Confirm a memory: its source counts as confirmed, its repetitions rise, and grounding doubt is cleared."""
        self.memory_ids = [id]
        return Response(MemoryChangeSerializer(feedback.confirm_memory(self.namespace, id, by=self.access.caller)).data)


class FeedbackView(WriteView):
    """Feedback on the usefulness of a memory."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="feedback", request=FeedbackSerializer, responses=MemoryChangeSerializer, tags=["memories"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Record whether a memory was useful."""
        useful = FeedbackSerializer.from_request(request)["useful"]
        self.memory_ids = [id]
        return Response(
            MemoryChangeSerializer(
                feedback.record_feedback(self.namespace, id, useful=useful, by=self.access.caller)
            ).data
        )


class CorrectView(WriteView):
    """Correction of a memory."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="correct",
        request=CorrectionSerializer,
        responses={201: CorrectionOutcomeSerializer, 200: CorrectionOutcomeSerializer},
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Correct a memory: the correction is remembered; the old memory is superseded and ends when it begins."""
        outcome, old = correct_from_body(self.access, id, CorrectionSerializer.from_request(request))
        self.memory_ids = [id, outcome.memory.id]
        body = {**OutcomeSerializer(outcome).data, "corrected": MemorySerializer(old.memory).data}
        return Response(body, status=200 if outcome.outcome == "merged" else 201)


class ContradictView(WriteView):
    """A contradiction between two memories."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="contradict",
        request=ContradictionSerializer,
        responses=ContradictionOutcomeSerializer,
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Record that two memories contradict each other: an edge joins them and both lose belief, once per pair.

        A contradiction that rules found is confirmed, so that no reflection withdraws it.
        """
        body = ContradictionSerializer.from_request(request)
        self.memory_ids = [id, body["memory"]]
        memory, other, changed = contradict_from_body(self.access, id, body)
        result = {"changed": changed, "memory": memory.memory, "other": other.memory}
        return Response(ContradictionOutcomeSerializer(result).data)


class SplitView(WriteView):
    """Undo of a merge."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="split", request=None, responses=SplitOutcomeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Undo a merge: the memory is active again, and its survivor is as if it had never been merged."""
        restored, survivor = split_memory(self.namespace, id, by=self.access.caller)
        self.memory_ids = [id, survivor.memory.id]
        return Response(SplitOutcomeSerializer({"memory": restored.memory, "survivor": survivor.memory}).data)


class ScoreHistoryView(NamespacedView):
    """The score history of a memory."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="history", responses=ScoreHistorySerializer, tags=["memories"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List every change of a memory's scores with its cause, oldest first."""
        if not Memory.objects.within(self.namespace).filter(id=id, status__in=visible_statuses(self.access)).exists():
            raise Http404(f"There is no memory {id} here.")
        events = ScoreEvent.objects.within(self.namespace).filter(memory_id=id).order_by("at", "id")
        return Response({"results": ScoreEventSerializer(events, many=True).data})
