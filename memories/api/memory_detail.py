"""One memory over REST: read, edit, forget."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer
from memories.api.write_errors import WriteView
from memories.models.choices import Kind, Role
from memories.web.fields import DateTime, Float, JsonObject, ListOf, OneOf, Text
from memories.web.memory_body import NewMemorySerializer
from memories.web.memory_filters import memories_with_tags, visible_statuses
from memories.web.serializers import StrictObject
from memories.writing.edit import edit_memory
from memories.writing.feedback import forget_memory


class MemoryEditSerializer(StrictObject):
    """Editable fields of a memory; null clears a timestamp or a score."""

    tags = ListOf(child=Text(max_length=100), max_length=50, required=False, help_text="replaces the current tags")
    kind = OneOf(choices=Kind.values, required=False)
    importance = Float(min_value=0, max_value=1, required=False)
    quality = Float(min_value=0, max_value=1, required=False)
    memory_score = Float(min_value=0, max_value=1, required=False, allow_null=True)
    user = Text(max_length=200, allow_blank=True, required=False)
    agent = Text(max_length=200, allow_blank=True, required=False)
    event_at = DateTime(required=False, allow_null=True)
    event_until = DateTime(required=False, allow_null=True)
    valid_from = DateTime(required=False, allow_null=True)
    valid_until = DateTime(required=False, allow_null=True)
    metadata = JsonObject(required=False)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            return super().to_internal_value(data)
        immutable = {name for name in data if name in NewMemorySerializer().fields and name not in self.fields}
        if immutable:
            message = "is part of the memory's content or evidence: POST a correction to …/correct/ instead"
            raise ValidationError({name: [message] for name in sorted(immutable)})
        if not data:
            raise ValidationError({"non_field_errors": [f"must name one of {', '.join(self.fields)}; got nothing"]})
        return super().to_internal_value(data)


class MemoryDetailView(WriteView):
    """One memory."""

    roles = {"GET": Role.READ, "PATCH": Role.WRITE, "DELETE": Role.WRITE}

    @extend_schema(operation_id="memory", responses=MemorySerializer, tags=["memories"])
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """Read a memory."""
        memory = memories_with_tags(self.namespace).filter(id=id, status__in=visible_statuses(self.access)).first()
        if memory is None:
            raise Http404(f"There is no memory {id} here.")
        return Response(MemorySerializer(memory).data)

    @extend_schema(operation_id="edit", request=MemoryEditSerializer, responses=MemorySerializer, tags=["memories"])
    @idempotent
    def patch(self, request: Request, namespace: str, id: UUID) -> Response:
        """Edit everything but the content, which is changed by a correction."""
        self.memory_ids = [id]
        state = edit_memory(self.namespace, id, MemoryEditSerializer.from_request(request), by=self.access.caller)
        return Response(MemorySerializer(state.memory).data)

    @extend_schema(operation_id="forget", responses={204: None}, tags=["memories"])
    @idempotent
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Forget a memory: it is no longer retrieved, and the next purge erases it."""
        self.memory_ids = [id]
        forget_memory(self.namespace, id, by=self.access.caller)
        return Response(status=204)
