"""Judged queries as lines of JSON, one query a line: read whole and checked line by line before anything is kept."""

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

MAX_GRADES = 1_000  # of one query
MAX_CONTENT_LENGTH = 100_000  # characters


class ContentSerializer(StrictObject):
    """A memory by its words."""

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
    """A memory by its id, or by its words."""

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
    """How well a memory answers a query."""

    memory = MemoryReference(help_text="its id, or {content}: its text, if exactly one memory has it")
    grade = Integer(
        min_value=GRADES[0], max_value=GRADES[-1], help_text="3 answers it, 2 helps, 1 is related, 0 is not"
    )


class NewJudgedQuery(StrictObject):
    """A query, and the memories that were judged for it."""

    query = Text(max_length=MAX_QUERY_CHARS)
    kind = OneOf(
        choices=QueryKind.values, required=False, help_text="unanswerable: no memory answers it; else answerable"
    )
    category = Text(max_length=50, allow_blank=True, required=False)
    user = Text(max_length=200, allow_blank=True, default="", help_text="who asks")
    as_of = DateTime(required=False, allow_null=True, help_text="a past time to answer as of")
    judgements = ListOf(child=NewGrade(), max_length=MAX_GRADES, default=list)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an answer to what was never stored."""
        if attrs.get("kind") == QueryKind.UNANSWERABLE and any(one["grade"] for one in attrs["judgements"]):
            raise ValidationError({"kind": ["must not be unanswerable where a memory has a grade above 0"]})
        return attrs


def valid_queries(parsed: ParsedJudgements) -> list[NewQuery]:
    """The queries of a file without problems; raises ValidationError."""
    if parsed.problems:
        raise ValidationError(parsed.problems)
    return parsed.queries


def parse_judgement_lines(namespace: Namespace, stream: Stream) -> ParsedJudgements:
    """Read a stream of lines."""
    found: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    for line in LineReader(stream).lines():
        if len(found) + len(problems) >= MAX_QUERIES:
            problems["body"] = [f"must have at most {MAX_QUERIES} queries; got more"]
            break
        place = f"line {line.number}"
        try:
            found[place] = parse_line(line)
        except InvalidLineError as error:
            problems[place] = error.problems
    read = parse_judgement_bodies(namespace, found)
    return ParsedJudgements(read.queries, problems | read.problems)


def parse_judgement_items(namespace: Namespace, items: Sequence[Any]) -> ParsedJudgements:
    """Read a list of queries that came in one body."""
    return parse_judgement_bodies(namespace, {f"queries.{number}": one for number, one in enumerate(items)})


def parse_judgement_bodies(namespace: Namespace, bodies: Mapping[str, Any]) -> ParsedJudgements:
    """Check each query by itself, then look all memories up at once."""
    values: dict[str, dict[str, Any]] = {}
    problems: dict[str, Any] = {}
    for place, body in bodies.items():
        try:
            values[place] = valid_values(NewJudgedQuery(data=body))
            check_not_future(namespace, values[place], "as_of")
        except ValidationError as error:
            problems[place] = error.detail
    known = ResolvedReferences.resolve(
        namespace, (one["memory"] for body in values.values() for one in body["judgements"])
    )
    read = ParsedJudgements(problems=problems)
    for place, body in values.items():
        grades, wrong = resolve_grades(known, body["judgements"])
        if wrong:
            problems.setdefault(place, {})["judgements"] = wrong
        read.queries.append(
            NewQuery(body["query"], body.get("kind"), body.get("category"), body["user"], body.get("as_of"), grades)
        )
    return read


def resolve_grades(
    references: ResolvedReferences, judgements: Iterable[Mapping[str, Any]]
) -> tuple[dict[UUID, int], dict[str, dict[str, list[ErrorDetail]]]]:
    """The grades by memory, the higher of two, and what is wrong with each by its number."""
    grades: dict[UUID, int] = {}
    wrong: dict[str, dict[str, list[ErrorDetail]]] = {}
    for number, one in enumerate(judgements):
        memory = references.lookup(one["memory"])
        if isinstance(memory, str):
            wrong[str(number)] = {"memory": [ErrorDetail(memory)]}
        else:
            grades[memory] = max(one["grade"], grades.get(memory, 0))
    return grades, wrong
