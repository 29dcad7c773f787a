"""Memories over REST: remember one or many, and list them."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.entity_name import EntityName
from memories.api.idempotency import idempotent
from memories.models import Memory, MemoryTag, Namespace, Turn
from memories.models.choices import STATEMENTS, ChunkLevel, Kind, MemoryType, Role, SourceLevel, Status
from memories.models.keys import NamespacedQuerySet
from memories.models.memory import MIN_LOGPROB
from memories.web.fields import DateTime, Flag, Float, Identifier, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.roles import Access
from memories.web.serializers import QueryString, StrictObject
from memories.web.timestamp_checks import check_not_expired, check_not_future
from memories.web.validation_errors import flatten_errors as flat
from memories.writing.new_memory import NewMemory, Utterance
from memories.writing.remember import Outcome, remember

MAX_CONTENT_CHARS = 20_000  # characters


class SourceSerializer(StrictObject):
    """One utterance that supports the memory."""

    turn = Identifier(required=False, help_text="the turn it was said in")
    level = OneOf(choices=SourceLevel.values)


class ExtractorSerializer(StrictObject):
    """The model that extracted the memory from a text."""

    model = Text(max_length=200, allow_blank=True, default="")
    logprobs = ListOf(
        child=Float(min_value=MIN_LOGPROB, max_value=0),
        max_length=4_096,
        default=list,
        help_text="log probabilities of the extracted tokens",
    )


class NewMemorySerializer(StrictObject):
    """A memory to remember."""

    content = Text(max_length=MAX_CONTENT_CHARS)
    type = Text(
        max_length=50, allow_blank=True, default="", help_text=f"{', '.join(MemoryType.values)}; others count as Fact"
    )
    subject = Text(max_length=300, allow_blank=True, default="")
    predicate = Text(max_length=200, allow_blank=True, default="")
    object = Text(max_length=2_000, allow_blank=True, default="")
    source_level = OneOf(choices=SourceLevel.values, required=False, help_text="instead of sources")
    sources = SourceSerializer(many=True, required=False)
    turn = Identifier(required=False, help_text="the turn it was said in, instead of sources")
    extractor = ExtractorSerializer(required=False)
    entities = ListOf(child=EntityName(), max_length=50, default=list)
    tags = ListOf(child=Text(max_length=100), max_length=50, default=list)
    kind = OneOf(choices=Kind.values, default=Kind.GENERAL)
    user = Text(max_length=200, allow_blank=True, default="")
    agent = Text(max_length=200, allow_blank=True, default="")
    session = Text(max_length=200, allow_blank=True, default="")
    evidence = Text(
        max_length=MAX_CONTENT_CHARS, allow_blank=True, default="", help_text="text that should support the content"
    )
    importance = Float(min_value=0, max_value=1, default=0.5)
    quality = Float(min_value=0, max_value=1, default=0.5)
    memory_score = Float(min_value=0, max_value=1, required=False)
    provenance_depth = Integer(min_value=0, max_value=100, default=0)
    created_at = DateTime(required=False)
    happened_at = DateTime(required=False)
    event_at = DateTime(required=False)
    event_until = DateTime(required=False)
    valid_from = DateTime(required=False)
    valid_until = DateTime(required=False)
    metadata = JsonObject(default=dict)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject fields that exclude each other."""
        if "source_level" in attrs and attrs.get("sources"):
            raise ValidationError({"source_level": ["must not be given with sources, which have their own levels"]})
        if "turn" in attrs and attrs.get("sources"):
            raise ValidationError({"turn": ["must not be given with sources, which have their own turns"]})
        for start, end in (("valid_from", "valid_until"), ("event_at", "event_until")):
            if start in attrs and end in attrs and attrs[start] > attrs[end]:
                raise ValidationError({end: [f"must not lie before {start}; got {attrs[end].isoformat()}"]})
        return attrs


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


def visible_statuses(access: Access) -> list[str]:
    """The statuses a caller may read: forgotten memories await their purge, visible to admins only."""
    return [status for status in Status.values if status != Status.FORGOTTEN or access.allows(Role.ADMIN)]


def memories_with_tags(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """The memories of a namespace, their tags prefetched in one query."""
    tags = MemoryTag.objects.within(namespace)
    return Memory.objects.within(namespace).prefetch_related(Prefetch("tags", tags))


def existing_turns(namespace: Namespace, bodies: Iterable[dict[str, Any]]) -> set[UUID]:
    """Which of the turns named in some bodies exist in the namespace, in one SQL query."""
    turn_ids = {source["turn"] for body in bodies for source in (body, *body.get("sources", ())) if "turn" in source}
    return (
        set(Turn.objects.within(namespace).filter(id__in=turn_ids).values_list("id", flat=True)) if turn_ids else set()
    )


def new_memory_from_body(namespace: Namespace, values: dict[str, Any], turns: set[UUID]) -> NewMemory:
    """A NewMemory from a validated body; impossible timestamps and unknown turns are rejected."""
    check_not_future(namespace, values, "created_at", "happened_at")
    check_not_expired(namespace, values)
    fields = dict(values)
    extractor = fields.pop("extractor", {})
    sources = fields.pop("sources", ())
    for index, source in enumerate(sources):
        if "turn" in source and source["turn"] not in turns:
            raise ValidationError({"sources": {str(index): unknown_turn_error(source["turn"])}})
    level, turn = fields.pop("source_level", ""), fields.pop("turn", None)
    if turn and turn not in turns:
        raise ValidationError(unknown_turn_error(turn))
    single = [Utterance(level, turn)] if level or turn else []
    evidence = [Utterance(source["level"], source.get("turn")) for source in sources] or single
    for name in ("entities", "tags"):
        fields[name] = tuple(fields[name])
    logprobs = tuple(extractor.get("logprobs", ()))
    return NewMemory(utterances=tuple(evidence), model=extractor.get("model", ""), logprobs=logprobs, **fields)


def unknown_turn_error(turn: UUID) -> dict[str, list[str]]:
    """The validation error of an unknown turn."""
    return {"turn": [f"must be a turn of this namespace; got {turn}"]}


def validate_memories(namespace: Namespace, items: Iterable[Any]) -> list[NewMemory | dict[str, Any]]:
    """For each item a NewMemory, or a refusal with its errors."""
    serializer = NewMemorySerializer()  # shared: building its fields takes longer than validating an item
    bodies = [_call_or_refusal(serializer.run_validation, item) for item in items]
    turns = existing_turns(namespace, [values for values in bodies if "outcome" not in values])
    return [
        values if "outcome" in values else _call_or_refusal(new_memory_from_body, namespace, values, turns)
        for values in bodies
    ]


def _call_or_refusal(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a call, or a refusal with its validation errors."""
    try:
        return function(*args)
    except ValidationError as error:
        return {"outcome": "refused", "problems": list(flat(error.detail))}
