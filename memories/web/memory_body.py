"""The request body of a new memory: its serializer, and the NewMemory it becomes."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from rest_framework.exceptions import ValidationError

from memories.contracts.new_memory import NewMemory, Utterance
from memories.contracts.text_limits import MAX_CONTENT_CHARS
from memories.models import Namespace, Turn
from memories.models.choices import Grounding, Kind, MemoryType, SourceLevel
from memories.models.memory import MIN_LOGPROB
from memories.web.entity_name import EntityName
from memories.web.fields import DateTime, Float, Identifier, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.serializers import StrictObject
from memories.web.timestamp_checks import check_not_expired, check_not_future
from memories.web.validation_errors import flatten_errors

SOURCE_HELP = (
    "who or what said it: a user, a document, a tool; only another source corroborates. Default: the user, else the "
    "speaker of the turn, else the agent"
)
MAX_PROVENANCE_DEPTH = 100
DEPTH_HELP = "number of hops from the original source"


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
    source = Text(max_length=200, allow_blank=True, default="", help_text=SOURCE_HELP)  # type: ignore[assignment]
    evidence = Text(
        max_length=MAX_CONTENT_CHARS, allow_blank=True, default="", help_text="text that should support the content"
    )
    importance = Float(min_value=0, max_value=1, default=0.5)
    quality = Float(min_value=0, max_value=1, default=0.5)
    memory_score = Float(min_value=0, max_value=1, required=False)
    provenance_depth = Integer(min_value=0, max_value=MAX_PROVENANCE_DEPTH, default=0, help_text=DEPTH_HELP)
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


class MemoryEditSerializer(StrictObject):
    """Editable fields of a memory; null clears a timestamp or a score."""

    tags = ListOf(child=Text(max_length=100), max_length=50, required=False, help_text="replaces the current tags")
    kind = OneOf(choices=Kind.values, required=False)
    importance = Float(min_value=0, max_value=1, required=False)
    quality = Float(min_value=0, max_value=1, required=False)
    memory_score = Float(min_value=0, max_value=1, required=False, allow_null=True)
    provenance_depth = Integer(min_value=0, max_value=MAX_PROVENANCE_DEPTH, required=False, help_text=DEPTH_HELP)
    grounding = OneOf(
        choices=Grounding.values,
        required=False,
        help_text="whether its source supports it; partial lowers the confidence, unsupported rejects the memory",
    )
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
        return {"outcome": "refused", "problems": list(flatten_errors(error.detail))}
