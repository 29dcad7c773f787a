"""Judged queries as JSON Lines, one query per line; all are validated before any is stored."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from memories.contracts.json_lines import InvalidLineError, LineReader, Stream, parse_line
from memories.contracts.json_values import quote_value
from memories.contracts.text_limits import MAX_QUERY_CHARS
from memories.models import Namespace
from memories.models.choices import QueryKind
from memories.tuning.judgement_store import NewQuery
from memories.tuning.memory_references import ResolvedReferences
from memories.tuning.parsed_judgements import GRADES, MAX_QUERIES, ParsedJudgements
from memories.web.fields import DateTime, Identifier, Integer, ListOf, OneOf, Text
from memories.web.serializers import StrictObject, valid_values
from memories.web.timestamp_checks import check_not_future

MAX_GRADES = 1_000  # per query
MAX_CONTENT_LENGTH = 100_000  # characters


class ContentSerializer(StrictObject):
    """A memory by its content."""

    content = Text(max_length=MAX_CONTENT_LENGTH, trim_whitespace=False)


REFERENCE_SCHEMA = {
    "oneOf": [
        {"type": "string", "format": "uuid"},
        {
            "type": "object",
            "properties": {"content": {"type": "string", "minLength": 1, "maxLength": MAX_CONTENT_LENGTH}},
            "required": ["content"],
            "additionalProperties": False,
        },
    ]
}


@extend_schema_field(REFERENCE_SCHEMA)
class MemoryReference(serializers.Field[Any, Any, Any, Any]):
    """A memory by its id, or by its content."""

    default_error_messages = {"required": "is required", "null": "must not be null"}

    def to_internal_value(self, data: Any) -> UUID | str:
        if isinstance(data, Mapping):
            return str(valid_values(ContentSerializer(data=data))["content"])
        if not isinstance(data, str):
            raise ValidationError([f"must be a memory's id, or an object with its content; got {quote_value(data)}"])
        return Identifier().run_validation(data)  # type: ignore[no-any-return]

    def to_representation(self, value: Any) -> Any:
        return value


class NewGrade(StrictObject):
    """The grade of a memory for a query."""

    memory = MemoryReference(help_text="its id, or {content}: its text, if exactly one memory has it")
    grade = Integer(
        min_value=GRADES[0], max_value=GRADES[-1], help_text="3 answers it, 2 helps, 1 is related, 0 is not"
    )


class NewJudgedQuery(StrictObject):
    """A query with its graded memories."""

    query = Text(max_length=MAX_QUERY_CHARS)
    kind = OneOf(
        choices=QueryKind.values, required=False, help_text="unanswerable: no memory answers it; else answerable"
    )
    category = Text(max_length=50, allow_blank=True, required=False)
    user = Text(max_length=200, allow_blank=True, default="", help_text="who asks")
    as_of = DateTime(required=False, allow_null=True, help_text="a past time to answer as of")
    judgements = ListOf(child=NewGrade(), max_length=MAX_GRADES, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject an unanswerable query with a relevant memory."""
        if attrs.get("kind") == QueryKind.UNANSWERABLE and any(item["grade"] for item in attrs["judgements"]):
            raise ValidationError({"kind": ["must not be unanswerable where a memory has a grade above 0"]})
        return attrs


def valid_queries(parsed: ParsedJudgements) -> list[NewQuery]:
    """The parsed queries; raises ValidationError if any is invalid."""
    if parsed.problems:
        raise ValidationError(parsed.problems)
    return parsed.queries


def parse_judgement_lines(namespace: Namespace, stream: Stream) -> ParsedJudgements:
    """Parse a JSON Lines stream."""
    bodies: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    for line in LineReader(stream).lines():
        if len(bodies) + len(problems) >= MAX_QUERIES:
            problems["body"] = [f"must have at most {MAX_QUERIES} queries; got more"]
            break
        place = f"line {line.number}"
        try:
            bodies[place] = parse_line(line)
        except InvalidLineError as error:
            problems[place] = error.problems
    parsed = parse_judgement_bodies(namespace, bodies)
    return ParsedJudgements(parsed.queries, problems | parsed.problems)


def parse_judgement_items(namespace: Namespace, items: Sequence[Any]) -> ParsedJudgements:
    """Parse the queries of one JSON body."""
    return parse_judgement_bodies(namespace, {f"queries.{index}": item for index, item in enumerate(items)})


def parse_judgement_bodies(namespace: Namespace, bodies: Mapping[str, Any]) -> ParsedJudgements:
    """Validate each query, then look up all memories in one go."""
    values: dict[str, dict[str, Any]] = {}
    problems: dict[str, Any] = {}
    for place, body in bodies.items():
        try:
            values[place] = valid_values(NewJudgedQuery(data=body))
            check_not_future(namespace, values[place], "as_of")
        except ValidationError as error:
            problems[place] = error.detail
    references = ResolvedReferences.resolve(
        namespace, (item["memory"] for body in values.values() for item in body["judgements"])
    )
    parsed = ParsedJudgements(problems=problems)
    for place, body in values.items():
        grades, errors = resolve_grades(references, body["judgements"])
        if errors:
            problems.setdefault(place, {})["judgements"] = errors
        parsed.queries.append(
            NewQuery(body["query"], body.get("kind"), body.get("category"), body["user"], body.get("as_of"), grades)
        )
    return parsed


def resolve_grades(
    references: ResolvedReferences, judgements: Iterable[Mapping[str, Any]]
) -> tuple[dict[UUID, int], dict[str, dict[str, list[ErrorDetail]]]]:
    """The grades by memory, the higher of two for the same one, and the errors by index."""
    grades: dict[UUID, int] = {}
    errors: dict[str, dict[str, list[ErrorDetail]]] = {}
    for index, item in enumerate(judgements):
        memory = references.lookup(item["memory"])
        if isinstance(memory, str):
            errors[str(index)] = {"memory": [ErrorDetail(memory)]}
        else:
            grades[memory] = max(item["grade"], grades.get(memory, 0))
    return grades, errors
