"""Edges over REST: how entities relate, and how memories bear on each other."""

from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.acting import ActingView, at_place
from memories.api.fields import Choice, Identifier, Real, Text
from memories.api.idempotency import idempotent
from memories.api.paging import PageQuery, page, paged
from memories.api.serializers import Object
from memories.models import Entity, EntityEdge, Memory, MemoryEdge
from memories.models.choices import EdgeKind, Role, Status
from memories.writing.linking import link, relate, unlink
from memories.writing.refusal import AbsentError


class EdgeQuery(PageQuery):
    """Which edges."""

    entity = Identifier(required=False, help_text="at either end")
    predicate = Text(max_length=200, required=False, help_text="to the letter")


class NewEdge(Object):
    """A relation between two entities."""

    source = Identifier()  # type: ignore[assignment]
    predicate = Text(max_length=200)
    target = Identifier()
    confidence = Real(min_value=0, max_value=1, default=1.0)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an edge from an entity to itself."""
        if attrs["source"] == attrs["target"]:
            raise ValidationError({"target": [f"must be another entity than the source; got {attrs['target']}"]})
        return attrs


class EndSerializer(serializers.Serializer[Entity]):
    """An entity at one end of an edge."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class EdgeSerializer(serializers.Serializer[EntityEdge]):
    """A relation between two entities, and the memory it was read from."""

    id = serializers.UUIDField()
    source = EndSerializer()  # type: ignore[assignment]
    predicate = serializers.CharField()
    target = EndSerializer()
    confidence = serializers.FloatField()
    memory = serializers.UUIDField(source="memory_id", allow_null=True, help_text="null: drawn by hand")
    created_at = serializers.DateTimeField()


class NewMemoryEdge(Object):
    """How a memory bears on another."""

    target = Identifier()
    kind = Choice(choices=EdgeKind.values)
    weight = Real(min_value=0, max_value=1, default=1.0)

    def validate_kind(self, kind: str) -> str:
        """Leave contradictions to their own address."""
        if kind == EdgeKind.CONTRADICTION:
            raise ValidationError("must not be contradiction, which costs belief: POST to …/contradict/ instead")
        return kind


class MemoryEdgeSerializer(serializers.Serializer[MemoryEdge]):
    """How one memory bears on another."""

    id = serializers.UUIDField()
    source = serializers.UUIDField(source="source_id")  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=EdgeKind.values)
    target = serializers.UUIDField(source="target_id")
    weight = serializers.FloatField()
    cosine = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()


class Edges(ActingView):
    """The relations between entities."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="edges", parameters=[EdgeQuery], responses=paged("EdgePage", EdgeSerializer), tags=["edges"]
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List relations between entities, newest first."""
        query = EdgeQuery.of(request)
        edges = EntityEdge.objects.within(self.namespace).select_related("source", "target")
        if "entity" in query:
            edges = edges.filter(Q(source_id=query["entity"]) | Q(target_id=query["entity"]))
        if "predicate" in query:
            edges = edges.filter(predicate=query["predicate"])
        return Response(page(request, self.namespace, edges, query).answer(EdgeSerializer))

    @extend_schema(operation_id="make_edge", request=NewEdge, responses={201: EdgeSerializer}, tags=["edges"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Draw a relation between two entities."""
        body = NewEdge.of(request)
        ends = {place: body[place] for place in ("source", "target")}
        known = {one.id: one for one in Entity.objects.within(self.namespace).filter(id__in=ends.values())}
        if unknown := {place: id for place, id in ends.items() if id not in known}:
            raise ValidationError(
                {place: [f"must be an entity of this namespace; got {id}"] for place, id in unknown.items()}
            )
        edge = relate(
            self.namespace, known[body["source"]], body["predicate"], known[body["target"]], body["confidence"]
        )
        return Response(EdgeSerializer(edge).data, status=201)


class EdgeDetail(ActingView):
    """One edge, between entities or between memories."""

    roles = {"DELETE": Role.WRITE}

    @extend_schema(operation_id="remove_edge", responses={204: None}, tags=["edges"])
    def delete(self, request: Request, namespace: str, id: UUID) -> Response:
        """Take an edge away; a contradiction or a corroboration that goes gives back the belief it moved."""
        unlink(self.namespace, id, by=self.access.caller)
        return Response(status=204)


class MemoryEdges(ActingView):
    """How one memory bears on others, and they on it."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="memory_edges",
        parameters=[PageQuery],
        responses=paged("MemoryEdgePage", MemoryEdgeSerializer),
        tags=["edges"],
    )
    def get(self, request: Request, namespace: str, id: UUID) -> Response:
        """List the edges of a memory, both ways, newest first."""
        query = PageQuery.of(request)
        there = Memory.objects.within(self.namespace).filter(id=id).exclude(status=Status.FORGOTTEN)
        if not there.exists():
            raise Http404(f"There is no memory {id} here.")
        edges = MemoryEdge.objects.within(self.namespace).filter(Q(source_id=id) | Q(target_id=id))
        return Response(page(request, self.namespace, edges, query).answer(MemoryEdgeSerializer))

    @extend_schema(
        operation_id="make_memory_edge", request=NewMemoryEdge, responses={201: MemoryEdgeSerializer}, tags=["edges"]
    )
    @idempotent
    def post(self, request: Request, namespace: str, id: UUID) -> Response:
        """Draw an edge from this memory to another."""
        body = NewMemoryEdge.of(request)
        target, kind = body["target"], EdgeKind(body["kind"])
        if target == id:
            raise ValidationError({"target": [f"must be another memory than that of the address; got {target}"]})
        self.memory_ids = [id, target]
        try:
            edge = link(self.namespace, id, target, kind, weight=body["weight"], by=self.access.caller)
        except AbsentError as error:
            raise (at_place(error, "target") if error.id == target else error) from error
        return Response(MemoryEdgeSerializer(edge).data, status=201)
