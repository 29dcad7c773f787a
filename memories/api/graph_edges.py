"""Edges over REST: relations between entities and links between memories."""

from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.idempotency import idempotent
from memories.api.write_errors import WriteView
from memories.models import Entity, EntityEdge, Memory, MemoryEdge
from memories.models.choices import EdgeKind, Role, Status
from memories.web.fields import Float, Identifier, OneOf, Text
from memories.web.http_errors import unknown_memory_error
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import StrictObject
from memories.writing.link import delete_edge, link_memories, relate_entities
from memories.writing.write_errors import NotFoundError


class EdgeQuery(PageQuery):
    """Filters of the edge list."""

    entity = Identifier(required=False, help_text="source or target")
    predicate = Text(max_length=200, required=False, help_text="exact match")


class NewEdge(StrictObject):
    """A relation between two entities."""

    source = Identifier()  # type: ignore[assignment]
    predicate = Text(max_length=200)
    target = Identifier()
    confidence = Float(min_value=0, max_value=1, default=1.0)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject an edge from an entity to itself."""
        if attrs["source"] == attrs["target"]:
            raise ValidationError({"target": [f"must differ from the source; got {attrs['target']}"]})
        return attrs


class EdgeEntitySerializer(serializers.Serializer[Entity]):
    """An entity at one end of an edge."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class EdgeSerializer(serializers.Serializer[EntityEdge]):
    """A relation between two entities, and the memory it was extracted from."""

    id = serializers.UUIDField()
    source = EdgeEntitySerializer()  # type: ignore[assignment]
    predicate = serializers.CharField()
    target = EdgeEntitySerializer()
    confidence = serializers.FloatField()
    memory = serializers.UUIDField(source="memory_id", allow_null=True, help_text="null: created through the API")
    created_at = serializers.DateTimeField()


class NewMemoryEdge(StrictObject):
    """A link to another memory."""

    target = Identifier()
    kind = OneOf(choices=EdgeKind.values)
    weight = Float(min_value=0, max_value=1, default=1.0)

    def validate_kind(self, kind: str) -> str:
        """Contradictions have their own endpoint."""
        if kind == EdgeKind.CONTRADICTION:
            raise ValidationError("must not be contradiction, which lowers belief: POST to …/contradict/ instead")
        return kind


class MemoryEdgeSerializer(serializers.Serializer[MemoryEdge]):
    """A link between two memories."""

    id = serializers.UUIDField()
    source = serializers.UUIDField(source="source_id")  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=EdgeKind.values)
    target = serializers.UUIDField(source="target_id")
    weight = serializers.FloatField()
    cosine = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()


class EntityEdgesView(WriteView):
    """The relations between entities."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="edges", parameters=[EdgeQuery], responses=page_schema("EdgePage", EdgeSerializer), tags=["edges"]
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List relations between entities, newest first."""
        query = EdgeQuery.from_request(request)
        edges = EntityEdge.objects.within(self.namespace).select_related("source", "target")
        if "entity" in query:
            edges = edges.filter(Q(source_id=query["entity"]) | Q(target_id=query["entity"]))
        if "predicate" in query:
            edges = edges.filter(predicate=query["predicate"])
        return Response(paginate(request, self.namespace, edges, query).to_dict(EdgeSerializer))

    @extend_schema(operation_id="create_edge", request=NewEdge, responses={201: EdgeSerializer}, tags=["edges"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Create a relation between two entities."""
        body = NewEdge.from_request(request)
        ends = {field: body[field] for field in ("source", "target")}
        rows = Entity.objects.within(self.namespace).filter(id__in=ends.values())
        entities = {entity.id: entity for entity in rows}
        if unknown := {field: id for field, id in ends.items() if id not in entities}:
            raise ValidationError(
                {field: [f"must be an entity of this namespace; got {id}"] for field, id in unknown.items()}
            )
        edge = relate_entities(
            self.namespace, entities[body["source"]], body["predicate"], entities[body["target"]], body["confidence"]
        )
        return Response(EdgeSerializer(edge).data, status=201)


class EdgeDetailView(WriteView):
    """One edge, between entities or between memories."""

    roles = {"DELETE": Role.WRITE}

    @extend_schema(operation_id="remove_edge", responses={204: None}, tags=["edges"])
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Delete an edge; deleting a contradiction or a corroboration reverts its change of belief."""
        delete_edge(self.namespace, id, by=self.access.caller)
        return Response(status=204)


class MemoryEdgesView(WriteView):
    """The links of a memory, in both directions."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="memory_edges",
        parameters=[PageQuery],
        responses=page_schema("MemoryEdgePage", MemoryEdgeSerializer),
        tags=["edges"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List the edges of a memory in both directions, newest first."""
        query = PageQuery.from_request(request)
        memory = Memory.objects.within(self.namespace).filter(id=id).exclude(status=Status.FORGOTTEN)
        if not memory.exists():
            raise Http404(f"There is no memory {id} here.")
        edges = MemoryEdge.objects.within(self.namespace).filter(Q(source_id=id) | Q(target_id=id))
        return Response(paginate(request, self.namespace, edges, query).to_dict(MemoryEdgeSerializer))

    @extend_schema(
        operation_id="create_memory_edge", request=NewMemoryEdge, responses={201: MemoryEdgeSerializer}, tags=["edges"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Create an edge from this memory to another."""
        body = NewMemoryEdge.from_request(request)
        target, kind = body["target"], EdgeKind(body["kind"])
        if target == id:
            raise ValidationError({"target": [f"must differ from the memory in the URL; got {target}"]})
        self.memory_ids = [id, target]
        try:
            edge = link_memories(self.namespace, id, target, kind, weight=body["weight"], by=self.access.caller)
        except NotFoundError as error:
            raise (unknown_memory_error(error, "target") if error.id == target else error) from error
        return Response(MemoryEdgeSerializer(edge).data, status=201)
