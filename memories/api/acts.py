"""What a caller may say of a stored memory: that it is so, that it helped, that it is wrong or was wrongly merged."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.access import Access
from memories.api.acting import ActingView, at_place
from memories.api.fields import Flag, Identifier, Text
from memories.api.idempotency import idempotent
from memories.api.memories import (
    SCORES,
    MemorySerializer,
    NewMemorySerializer,
    OutcomeSerializer,
    told,
    turns_known,
    visible,
)
from memories.api.serializers import Object
from memories.api.views import NamespacedView
from memories.models import Memory, ScoreEvent
from memories.models.choices import Role
from memories.writing import acts
from memories.writing.correcting import correct
from memories.writing.refusal import AbsentError
from memories.writing.remember import Outcome
from memories.writing.splitting import split
from memories.writing.standing import Standing


class ChangeSerializer(serializers.Serializer[Standing]):
    """A memory after a change, and how its scores come about now."""

    memory = MemorySerializer()
    explanation = serializers.DictField(source="explained", help_text="of the confidence")
    scores = serializers.DictField(child=serializers.DictField(), help_text=f"{SCORES}; utility after feedback")


class FeedbackSerializer(Object):
    """Whether a memory helped."""

    useful = Flag()


class CorrectionSerializer(NewMemorySerializer):
    """What is right instead; what is left out is taken over from the memory that is corrected."""

    def get_fields(self) -> dict[str, Any]:
        found = super().get_fields()
        for name, field in found.items():
            if name != "content":
                field.required, field.default = False, empty
        return found


class CorrectedSerializer(OutcomeSerializer):
    """What became of a correction, and of the memory it corrects."""

    corrected = MemorySerializer(
        help_text="superseded; active until the correction begins, or where that itself was rejected"
    )


class ContradictionSerializer(Object):
    """The other of two memories that cannot both hold."""

    memory = Identifier()
    reason = Text(max_length=1_000, allow_blank=True, default="", help_text="kept in the history of both")


class ContradictedSerializer(serializers.Serializer[Any]):
    """Two memories that contradict each other."""

    changed = serializers.BooleanField(help_text="false where it was known already: belief is lost once")
    memory = MemorySerializer()
    other = MemorySerializer()


class SplitSerializer(serializers.Serializer[Any]):
    """A memory that stands by itself again, and the one that had absorbed it."""

    memory = MemorySerializer()
    survivor = MemorySerializer()


class EventSerializer(serializers.Serializer[Any]):
    """One change of a memory's numbers, and its cause."""

    at = serializers.DateTimeField()
    cause = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    parts = serializers.DictField(help_text="how the new number came about, and the reason that was given")
    other = serializers.UUIDField(source="other_id", allow_null=True, help_text="the memory that caused it")
    by = serializers.CharField(allow_blank=True)


class HistorySerializer(serializers.Serializer[Any]):
    """Every change of one memory, the first first."""

    results = EventSerializer(many=True)


class Confirm(ActingView):
    """A user's word for a memory."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="confirm", request=None, responses=ChangeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Confirm a memory: its source counts as confirmed, it is heard once more, and grounding doubt is cleared."""
        self.memory_ids = [id]
        return Response(ChangeSerializer(acts.confirm(self.namespace, id, by=self.access.caller)).data)


class Feedback(ActingView):
    """Whether a memory helped."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="feedback", request=FeedbackSerializer, responses=ChangeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell whether a memory was useful."""
        useful = FeedbackSerializer.of(request)["useful"]
        self.memory_ids = [id]
        return Response(ChangeSerializer(acts.judge(self.namespace, id, useful=useful, by=self.access.caller)).data)


class Correct(ActingView):
    """What is right instead."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="correct",
        request=CorrectionSerializer,
        responses={201: CorrectedSerializer, 200: CorrectedSerializer},
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Correct a memory: what is right is remembered, and what was wrong is superseded and ends where it begins."""
        outcome, old = put_right(self.access, id, CorrectionSerializer.of(request))
        self.memory_ids = [id, outcome.memory.id]
        answer = {**OutcomeSerializer(outcome).data, "corrected": MemorySerializer(old.memory).data}
        return Response(answer, status=200 if outcome.outcome == "merged" else 201)


class Contradict(ActingView):
    """Somebody's word that two memories cannot both hold."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="contradict", request=ContradictionSerializer, responses=ContradictedSerializer, tags=["memories"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Set two memories against each other: an edge joins them, and both lose belief, once for a pair."""
        body = ContradictionSerializer.of(request)
        self.memory_ids = [id, body["memory"]]
        one, against, changed = set_against(self.access, id, body)
        answer = {"changed": changed, "memory": one.memory, "other": against.memory}
        return Response(ContradictedSerializer(answer).data)


class Split(ActingView):
    """A merge undone."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="split", request=None, responses=SplitSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Split a merged memory off: it is active again, and its survivor stands as if it had never come."""
        lone, survivor = split(self.namespace, id, by=self.access.caller)
        self.memory_ids = [id, survivor.memory.id]
        return Response(SplitSerializer({"memory": lone.memory, "survivor": survivor.memory}).data)


class History(NamespacedView):
    """How a memory came to its numbers."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="history", responses=HistorySerializer, tags=["memories"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List every change of a memory's scores with its cause, the first first."""
        if not Memory.objects.within(self.namespace).filter(id=id, status__in=visible(self.access)).exists():
            raise Http404(f"There is no memory {id} here.")
        events = ScoreEvent.objects.within(self.namespace).filter(memory_id=id).order_by("at", "id")
        return Response({"results": EventSerializer(events, many=True).data})


def put_right(access: Access, id: UUID, body: dict[str, Any]) -> tuple[Outcome, Standing]:
    """Correct a memory by a checked body."""
    new = told(access.namespace, {"entities": [], "tags": []} | body, turns_known(access.namespace, [body]))
    said = {field: getattr(new, field) for name in body for field in GIVEN_AS.get(name, (name,))}
    return correct(access.namespace, id, said, by=access.caller)


def set_against(access: Access, id: UUID, body: dict[str, Any]) -> tuple[Standing, Standing, bool]:
    """Let a memory be contradicted by the one that a checked body names; tell whether that was new."""
    other = body["memory"]
    if other == id:
        raise ValidationError({"memory": [f"must be another memory than that of the address; got {other}"]})
    try:
        return acts.contradict(access.namespace, id, other, reason=body["reason"], by=access.caller)
    except AbsentError as error:
        raise (at_place(error, "memory") if error.id == other else error) from error


# What a body calls otherwise than a memory to be does.
GIVEN_AS = {"source_level": ("said",), "sources": ("said",), "extractor": ("model", "logprobs")}
