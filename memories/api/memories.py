"""Memories over REST: remember one or many, and list them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.contracts.new_memory import NewMemory
from memories.models import Memory
from memories.models.choices import STATEMENTS, ChunkLevel, MemoryType, Role, Status
from memories.web.fields import Flag, JsonObject, ListOf, OneOf, Text
from memories.web.memory_body import (
    DEPTH_HELP,
    NewMemorySerializer,
    existing_turns,
    new_memory_from_body,
    validate_memories,
)
from memories.web.memory_filters import memories_with_tags, visible_statuses
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import QueryString, StrictObject
from memories.writing.decide import Outcome
from memories.writing.remember import remember

SCORES_HELP = (
    "explanations of the other scores, by name: belief as in the history, or as an input if this write did not change "
    "it; importance, quality and memory_score as given"
)


class MemorySerializer(serializers.Serializer[Memory]):
    """A stored memory."""

    id = serializers.UUIDField()
    type = serializers.CharField()
    level = serializers.CharField(help_text="fact or summary, or the turn or session of a conversation")
    kind = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    content = serializers.CharField()
    subject = serializers.CharField(source="subject_surface", allow_blank=True)
    subject_id = serializers.UUIDField(allow_null=True)
    predicate = serializers.CharField(allow_blank=True)
    object = serializers.CharField(allow_blank=True)
    tags = serializers.SerializerMethodField()
    confidence = serializers.FloatField()
    repetitions = serializers.IntegerField()
    belief = serializers.FloatField()
    corroborations = serializers.IntegerField()
    contradictions = serializers.IntegerField()
    useful = serializers.IntegerField()
    not_useful = serializers.IntegerField()
    importance = serializers.FloatField()
    quality = serializers.FloatField()
    memory_score = serializers.FloatField(allow_null=True)
    provenance_depth = serializers.IntegerField(help_text=DEPTH_HELP)
    grounding = serializers.CharField(help_text="whether its source supports it: supported, partial or unsupported")
    grounding_penalty = serializers.FloatField(help_text="by which it lowers the confidence")
    access_count = serializers.IntegerField()
    user = serializers.CharField(allow_blank=True)
    agent = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    event_at = serializers.DateTimeField(allow_null=True)
    event_until = serializers.DateTimeField(allow_null=True)
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    merged_into_id = serializers.UUIDField(allow_null=True)
    superseded_by_id = serializers.UUIDField(allow_null=True)
    metadata = serializers.DictField()

    def get_tags(self, memory: Memory) -> list[str]:
        """The tags, prefetched for lists."""
        return memory.tag_names


class OutcomeSerializer(serializers.Serializer[Outcome]):
    """The outcome of a write."""

    outcome = serializers.ChoiceField(choices=["stored", "merged", "escalated", "rejected"])
    reason = serializers.CharField(allow_blank=True)
    memory = MemorySerializer()
    explanation = serializers.DictField(help_text="explanation of the confidence: {name, value, op, parts}")
    scores = serializers.DictField(child=serializers.DictField(), help_text=SCORES_HELP)


class MemoryBatchSerializer(StrictObject):
    """Memories to remember."""

    memories = ListOf(child=JsonObject(), max_length=1_000, min_length=1, help_text="each as for a single write")


class BatchItemSerializer(serializers.Serializer[Any]):
    """The outcome of one item of a batch: as for a single write, or refused with its errors."""

    outcome = serializers.ChoiceField(choices=["stored", "merged", "escalated", "rejected", "refused"])
    reason = serializers.CharField(required=False)
    memory = MemorySerializer(required=False)
    explanation = serializers.DictField(required=False)
    scores = serializers.DictField(child=serializers.DictField(), required=False, help_text=SCORES_HELP)
    problems = serializers.ListField(child=serializers.DictField(), required=False, help_text="[{at, message}]")


class BatchOutcomeSerializer(serializers.Serializer[Any]):
    """One outcome per item, in input order."""

    results = BatchItemSerializer(many=True)


class WriteQuery(QueryString):
    """Write options."""

    dry_run = Flag(in_query=True, default=False, help_text="return the outcome, store nothing")


class MemoryQuery(PageQuery):
    """Filters of the memory list."""

    type = OneOf(choices=MemoryType.values, required=False)
    status = OneOf(choices=Status.values, default=Status.ACTIVE)
    level = OneOf(choices=ChunkLevel.values, required=False, help_text="default: facts and summaries")
    user = Text(max_length=200, required=False)


class MemoriesView(NamespacedView):
    """The memories of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="memories",
        parameters=[MemoryQuery],
        responses=page_schema("MemoryPage", MemorySerializer),
        tags=["memories"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List memories, newest first."""
        query = MemoryQuery.from_request(request)
        if query["status"] not in visible_statuses(self.access):
            raise PermissionDenied(f"Forgotten memories need the role {Role.ADMIN}; got {self.access.role}.")
        filters = {name: query[name] for name in ("type", "status", "user") if name in query}
        levels = [query["level"]] if "level" in query else STATEMENTS
        memories = paginate(
            request, self.namespace, memories_with_tags(self.namespace).filter(level__in=levels, **filters), query
        )
        return Response(memories.to_dict(MemorySerializer))

    @extend_schema(
        operation_id="remember",
        parameters=[WriteQuery],
        request=NewMemorySerializer,
        responses={201: OutcomeSerializer, 200: OutcomeSerializer},
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Remember one memory: it is stored, merged with a duplicate, escalated for review, or rejected."""
        dry_run = WriteQuery.from_request(request)["dry_run"]
        body = NewMemorySerializer.from_request(request)
        new = new_memory_from_body(self.namespace, body, existing_turns(self.namespace, [body]))
        (outcome,) = remember(self.namespace, [new], by=self.access.caller, dry_run=dry_run)
        self.memory_ids = [outcome.memory.id]
        return Response(OutcomeSerializer(outcome).data, status=200 if outcome.outcome == "merged" else 201)


class MemoryBatchView(NamespacedView):
    """Batch write."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="remember_batch",
        parameters=[WriteQuery],
        request=MemoryBatchSerializer,
        responses=BatchOutcomeSerializer,
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Remember up to 1,000 memories, one outcome each, in order; a refused item does not affect the others."""
        dry_run = WriteQuery.from_request(request)["dry_run"]
        items = validate_memories(self.namespace, MemoryBatchSerializer.from_request(request)["memories"])
        memories = [item for item in items if isinstance(item, NewMemory)]
        outcomes = iter(remember(self.namespace, memories, by=self.access.caller, dry_run=dry_run))
        results = [OutcomeSerializer(next(outcomes)).data if isinstance(item, NewMemory) else item for item in items]
        self.memory_ids = [UUID(result["memory"]["id"]) for result in results if "memory" in result]
        return Response({"results": results})
