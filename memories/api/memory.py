"""One memory over REST: read, edited, forgotten."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import ActingView
from memories.api.fields import Choice, Items, JsonObject, Moment, Real, Text
from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer, NewMemorySerializer, visible, with_tags
from memories.api.serializers import Object
from memories.models.choices import Kind, Role
from memories.writing.acts import forget
from memories.writing.editing import edit


class EditSerializer(Object):
    """What may be changed of a memory; null takes a time or a score away."""

    tags = Items(child=Text(max_length=100), max_length=50, required=False, help_text="in place of those it has")
    kind = Choice(choices=Kind.values, required=False)
    importance = Real(min_value=0, max_value=1, required=False)
    quality = Real(min_value=0, max_value=1, required=False)
    memory_score = Real(min_value=0, max_value=1, required=False, allow_null=True)
    user = Text(max_length=200, allow_blank=True, required=False)
    agent = Text(max_length=200, allow_blank=True, required=False)
    event_at = Moment(required=False, allow_null=True)
    event_until = Moment(required=False, allow_null=True)
    valid_from = Moment(required=False, allow_null=True)
    valid_until = Moment(required=False, allow_null=True)
    metadata = JsonObject(required=False)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            return super().to_internal_value(data)
        stated = {name for name in data if name in NewMemorySerializer().fields and name not in self.fields}
        refusal = "is part of what the memory says or rests on: POST to …/correct/ what is right instead"
        if stated:
            raise ValidationError({name: [refusal] for name in sorted(stated)})
        if not data:
            raise ValidationError({"non_field_errors": [f"must name one of {', '.join(self.fields)}; got nothing"]})
        return super().to_internal_value(data)


class MemoryDetail(ActingView):
    """One memory."""

    roles = {"GET": Role.READ, "PATCH": Role.WRITE, "DELETE": Role.WRITE}

    @extend_schema(operation_id="memory", responses=MemorySerializer, tags=["memories"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a memory."""
        memory = with_tags(self.namespace).filter(id=id, status__in=visible(self.access)).first()
        if memory is None:
            raise Http404(f"There is no memory {id} here.")
        return Response(MemorySerializer(memory).data)

    @extend_schema(operation_id="edit", request=EditSerializer, responses=MemorySerializer, tags=["memories"])
    @idempotent
    def patch(self, request: Request, namespace: str, id: UUID) -> Response:
        """Change what is not content; what a memory says is changed by correcting it."""
        self.memory_ids = [id]
        standing = edit(self.namespace, id, EditSerializer.of(request), by=self.access.caller)
        return Response(MemorySerializer(standing.memory).data)

    @extend_schema(operation_id="forget", responses={204: None}, tags=["memories"])
    @idempotent
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Forget a memory: no answer holds it any more, and the next purge erases it."""
        self.memory_ids = [id]
        forget(self.namespace, id, by=self.access.caller)
        return Response(status=204)
