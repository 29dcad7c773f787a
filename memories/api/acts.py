"""What a caller may say of a stored memory: that it is so, that it helped, that it should be forgotten."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Flag
from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer
from memories.api.serializers import Object
from memories.api.views import NamespacedView
from memories.models import Memory, Namespace, ScoreEvent
from memories.models.choices import Role
from memories.writing import acts
from memories.writing.standing import Standing


class ChangeSerializer(serializers.Serializer[Standing]):
    """A memory after a change, and how its confidence comes about now."""

    memory = MemorySerializer()
    explanation = serializers.DictField(source="explained")


class FeedbackSerializer(Object):
    """Whether a memory helped."""

    useful = Flag()


class EventSerializer(serializers.Serializer[Any]):
    """One change of a memory's numbers, and its cause."""

    at = serializers.DateTimeField()
    cause = serializers.CharField()
    before = serializers.DictField()
    after = serializers.DictField()
    parts = serializers.DictField(help_text="how the new confidence came about")
    other = serializers.UUIDField(source="other_id", allow_null=True, help_text="the memory that caused it")
    by = serializers.CharField(allow_blank=True)


class HistorySerializer(serializers.Serializer[Any]):
    """Every change of one memory, the first first."""

    results = EventSerializer(many=True)


class Confirm(NamespacedView):
    """A user's word for a memory."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="confirm", request=None, responses=ChangeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Confirm a memory: its source counts as confirmed, it is heard once more, and grounding doubt is cleared."""
        self.memory_ids = [id]
        return Response(ChangeSerializer(there(id, acts.confirm(self.namespace, id, by=self.access.caller))).data)


class Feedback(NamespacedView):
    """Whether a memory helped."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="feedback", request=FeedbackSerializer, responses=ChangeSerializer, tags=["memories"])
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Tell whether a memory was useful."""
        useful = FeedbackSerializer.of(request)["useful"]
        self.memory_ids = [id]
        found = acts.judge(self.namespace, id, useful=useful, by=self.access.caller)
        return Response(ChangeSerializer(there(id, found)).data)


class History(NamespacedView):
    """How a memory came to its numbers."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="history", responses=HistorySerializer, tags=["memories"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List every change of a memory's scores with its cause, the first first."""
        if not exists(self.namespace, id):
            raise missing(id)
        events = ScoreEvent.objects.within(self.namespace).filter(memory_id=id).order_by("at", "id")
        return Response({"results": EventSerializer(events, many=True).data})


def exists(namespace: Namespace, memory: UUID) -> bool:
    """Tell whether a namespace has a memory."""
    return Memory.objects.within(namespace).filter(id=memory).exists()


def there(id: UUID, standing: Standing | None) -> Standing:
    """Give what was changed, or say that there is nothing to change."""
    if standing is None:
        raise missing(id)
    return standing


def missing(id: UUID) -> Http404:
    """There is no such memory, or it was forgotten."""
    return Http404(f"There is no memory {id} here.")
