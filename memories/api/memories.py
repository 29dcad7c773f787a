"""Memories over REST: asked to be remembered, listed, read."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.access import Access
from memories.api.fields import Choice, Flag, Identifier, Items, JsonObject, Moment, Real, Text, Whole
from memories.api.idempotency import idempotent
from memories.api.names import Name
from memories.api.paging import PageQuery, page, paged
from memories.api.serializers import Object, Query
from memories.api.times import check_holds, check_past
from memories.api.views import NamespacedView
from memories.models import Memory, MemoryTag, Namespace, Turn
from memories.models.choices import STATEMENTS, ChunkLevel, Kind, MemoryType, Role, SourceLevel, Status
from memories.models.keys import NamespacedQuerySet
from memories.models.memory import LEAST_LOGPROB
from memories.writing.new_memory import NewMemory, Said
from memories.writing.remember import Outcome, remember
from recall_site.problems import flat

LONGEST_CONTENT = 20_000  # characters


class SourceSerializer(Object):
    """One utterance that says it."""

    turn = Identifier(required=False, help_text="the turn that says it")
    level = Choice(choices=SourceLevel.values)


class ExtractorSerializer(Object):
    """Who read it out of a text."""

    model = Text(max_length=200, allow_blank=True, default="")
    logprobs = Items(
        child=Real(min_value=LEAST_LOGPROB, max_value=0),
        max_length=4_096,
        default=list,
        help_text="of the extracted tokens",
    )


class NewMemorySerializer(Object):
    """A memory as a caller tells it."""

    content = Text(max_length=LONGEST_CONTENT)
    type = Text(
        max_length=50, allow_blank=True, default="", help_text=f"{', '.join(MemoryType.values)}; others count as Fact"
    )
    subject = Text(max_length=300, allow_blank=True, default="")
    predicate = Text(max_length=200, allow_blank=True, default="")
    object = Text(max_length=2_000, allow_blank=True, default="")
    source_level = Choice(choices=SourceLevel.values, required=False, help_text="where there are no sources to name")
    sources = SourceSerializer(many=True, required=False)
    turn = Identifier(required=False, help_text="the turn that says it, where it is one: a source of the source_level")
    extractor = ExtractorSerializer(required=False)
    entities = Items(child=Name(), max_length=50, default=list)
    tags = Items(child=Text(max_length=100), max_length=50, default=list)
    kind = Choice(choices=Kind.values, default=Kind.GENERAL)
    user = Text(max_length=200, allow_blank=True, default="")
    agent = Text(max_length=200, allow_blank=True, default="")
    session = Text(max_length=200, allow_blank=True, default="")
    evidence = Text(
        max_length=LONGEST_CONTENT, allow_blank=True, default="", help_text="a text that should bear it out"
    )
    importance = Real(min_value=0, max_value=1, default=0.5)
    quality = Real(min_value=0, max_value=1, default=0.5)
    memory_score = Real(min_value=0, max_value=1, required=False)
    provenance_depth = Whole(min_value=0, max_value=100, default=0)
    created_at = Moment(required=False)
    happened_at = Moment(required=False)
    event_at = Moment(required=False)
    event_until = Moment(required=False)
    valid_from = Moment(required=False)
    valid_until = Moment(required=False)
    metadata = JsonObject(default=dict)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse what contradicts itself."""
        if "source_level" in attrs and attrs.get("sources"):
            raise ValidationError({"source_level": ["must not come with sources, which name their own levels"]})
        if "turn" in attrs and attrs.get("sources"):
            raise ValidationError({"turn": ["must not come with sources, which name their own turns"]})
        for first, last in (("valid_from", "valid_until"), ("event_at", "event_until")):
            if first in attrs and last in attrs and attrs[first] > attrs[last]:
                raise ValidationError({last: [f"must not lie before {first}; got {attrs[last].isoformat()}"]})
        return attrs


SCORES = (
    "how every other score came about, by its name: belief as the history tells it, or as an input where nothing has "
    "moved it now; importance, quality and memory_score as they were given"
)


class MemorySerializer(serializers.Serializer[Memory]):
    """A memory as it is stored."""

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
        """Give the tags, which a list has fetched with it."""
        return memory.tag_names


class OutcomeSerializer(serializers.Serializer[Outcome]):
    """What became of a memory."""

    outcome = serializers.ChoiceField(choices=["stored", "merged", "escalated", "rejected"])
    reason = serializers.CharField(allow_blank=True)
    memory = MemorySerializer()
    explanation = serializers.DictField(help_text="how the confidence came about: {name, value, op, parts}")
    scores = serializers.DictField(child=serializers.DictField(), help_text=SCORES)


class BatchSerializer(Object):
    """Memories to be remembered."""

    memories = Items(child=JsonObject(), max_length=1_000, min_length=1, help_text="each as for a single one")


class BatchItemSerializer(serializers.Serializer[Any]):
    """What became of one of many: as for a single one, or refused with what is wrong."""

    outcome = serializers.ChoiceField(choices=["stored", "merged", "escalated", "rejected", "refused"])
    reason = serializers.CharField(required=False)
    memory = MemorySerializer(required=False)
    explanation = serializers.DictField(required=False)
    scores = serializers.DictField(child=serializers.DictField(), required=False, help_text=SCORES)
    problems = serializers.ListField(child=serializers.DictField(), required=False, help_text="[{at, message}]")


class BatchOutcomeSerializer(serializers.Serializer[Any]):
    """What became of each, in the order they came."""

    results = BatchItemSerializer(many=True)


class WriteQuery(Query):
    """How to write."""

    dry_run = Flag(in_query=True, default=False, help_text="tell what would become of it, and store nothing")


class MemoryQuery(PageQuery):
    """Which memories."""

    type = Choice(choices=MemoryType.values, required=False)
    status = Choice(choices=Status.values, default=Status.ACTIVE)
    level = Choice(choices=ChunkLevel.values, required=False, help_text="without it, facts and summaries")
    user = Text(max_length=200, required=False)


class Memories(NamespacedView):
    """The memories of a namespace."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="memories",
        parameters=[MemoryQuery],
        responses=paged("MemoryPage", MemorySerializer),
        tags=["memories"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List memories, newest first."""
        query = MemoryQuery.of(request)
        if query["status"] not in visible(self.access):
            raise PermissionDenied(f"What was forgotten is for the role {Role.ADMIN}; got {self.access.role}.")
        chosen = {name: query[name] for name in ("type", "status", "user") if name in query}
        levels = [query["level"]] if "level" in query else STATEMENTS
        found = page(request, self.namespace, with_tags(self.namespace).filter(level__in=levels, **chosen), query)
        return Response(found.answer(MemorySerializer))

    @extend_schema(
        operation_id="remember",
        parameters=[WriteQuery],
        request=NewMemorySerializer,
        responses={201: OutcomeSerializer, 200: OutcomeSerializer},
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Remember one thing: it is stored, merged with what says the same, escalated to a person, or rejected."""
        dry_run = WriteQuery.of(request)["dry_run"]
        body = NewMemorySerializer.of(request)
        new = told(self.namespace, body, turns_known(self.namespace, [body]))
        (outcome,) = remember(self.namespace, [new], by=self.access.caller, dry_run=dry_run)
        self.memory_ids = [outcome.memory.id]
        return Response(OutcomeSerializer(outcome).data, status=200 if outcome.outcome == "merged" else 201)


class Batch(NamespacedView):
    """Many memories at once."""

    roles = {"POST": Role.WRITE}

    @extend_schema(
        operation_id="remember_batch",
        parameters=[WriteQuery],
        request=BatchSerializer,
        responses=BatchOutcomeSerializer,
        tags=["memories"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Remember up to 1,000 things, one outcome each in their order; one that is refused holds up nobody."""
        dry_run = WriteQuery.of(request)["dry_run"]
        items = read(self.namespace, BatchSerializer.of(request)["memories"])
        news = [one for one in items if isinstance(one, NewMemory)]
        outcomes = iter(remember(self.namespace, news, by=self.access.caller, dry_run=dry_run))
        results = [OutcomeSerializer(next(outcomes)).data if isinstance(one, NewMemory) else one for one in items]
        self.memory_ids = [UUID(one["memory"]["id"]) for one in results if "memory" in one]
        return Response({"results": results})


def visible(access: Access) -> list[str]:
    """The states of memories that a caller may read: what was forgotten waits for its purge, seen by admins alone."""
    return [status for status in Status.values if status != Status.FORGOTTEN or access.allows(Role.ADMIN)]


def with_tags(namespace: Namespace) -> NamespacedQuerySet[Memory]:
    """Give the memories, their tags in one more question."""
    tags = MemoryTag.objects.within(namespace)
    return Memory.objects.within(namespace).prefetch_related(Prefetch("tags", tags))


def turns_known(namespace: Namespace, bodies: Iterable[dict[str, Any]]) -> set[UUID]:
    """Give those turns that bodies name and the namespace has, one question for all."""
    named = {one["turn"] for body in bodies for one in (body, *body.get("sources", ())) if "turn" in one}
    return set(Turn.objects.within(namespace).filter(id__in=named).values_list("id", flat=True)) if named else set()


def told(namespace: Namespace, values: dict[str, Any], turns: set[UUID]) -> NewMemory:
    """A checked body as a memory to be; a moment that cannot be is refused, and a turn nobody knows."""
    check_past(namespace, values, "created_at", "happened_at")
    check_holds(namespace, values)
    plain = dict(values)
    extractor = plain.pop("extractor", {})
    sources = plain.pop("sources", ())
    for place, one in enumerate(sources):
        if "turn" in one and one["turn"] not in turns:
            raise ValidationError({"sources": {str(place): unknown_turn(one["turn"])}})
    level, turn = plain.pop("source_level", ""), plain.pop("turn", None)
    if turn and turn not in turns:
        raise ValidationError(unknown_turn(turn))
    alone = [Said(level, turn)] if level or turn else []
    said = [Said(one["level"], one.get("turn")) for one in sources] or alone
    for name in ("entities", "tags"):
        plain[name] = tuple(plain[name])
    logprobs = tuple(extractor.get("logprobs", ()))
    return NewMemory(said=tuple(said), model=extractor.get("model", ""), logprobs=logprobs, **plain)


def unknown_turn(turn: UUID) -> dict[str, list[str]]:
    """What is wrong with a turn that the namespace does not have."""
    return {"turn": [f"must be a turn of this namespace; got {turn}"]}


def read(namespace: Namespace, items: Iterable[Any]) -> list[NewMemory | dict[str, Any]]:
    """For each item a memory to be, or what is wrong with it."""
    body = NewMemorySerializer()  # one for all: to make its fields takes longer than to check by them
    bodies = [_or_refused(body.run_validation, item) for item in items]
    turns = turns_known(namespace, [values for values in bodies if "outcome" not in values])
    return [values if "outcome" in values else _or_refused(told, namespace, values, turns) for values in bodies]


def _or_refused(make: Callable[..., Any], *of: Any) -> Any:
    """What is made, or what is wrong with that of which it should be."""
    try:
        return make(*of)
    except ValidationError as error:
        return {"outcome": "refused", "problems": list(flat(error.detail))}
