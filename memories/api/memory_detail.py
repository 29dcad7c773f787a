"""One memory over REST: read, edit, forget."""

from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.idempotency import idempotent
from memories.api.memories import MemorySerializer
from memories.api.write_errors import WriteView
from memories.models.choices import Role
from memories.web.memory_body import MemoryEditSerializer
from memories.web.memory_filters import memories_with_tags, visible_statuses
from memories.writing.edit import edit_memory
from memories.writing.feedback import forget_memory


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
        """Edit everything but the content, which is changed by a correction.

        Another grounding verdict recomputes the confidence; what the policy would not have stored is rejected.
        """
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
