"""Serializers of judgement sets: request bodies, query strings and responses."""

from typing import Any

from rest_framework import serializers

from memories.models import JudgedQuery, Judgement
from memories.models.choices import Part, QueryKind
from memories.tuning import judgement_import, query_sampling
from memories.tuning.judgement_set_stats import JudgementSetStats
from memories.web.fields import Flag, Identifier, Integer, ListOf, OneOf, Text
from memories.web.pagination import PageQuery
from memories.web.serializers import StrictObject

MAX_ITEMS = 1_000  # queries or grades per body
MAX_BODY_BYTES = 20_000_000  # bytes of a body with queries


class NewJudgementSet(StrictObject):
    """A new judgement set."""

    name = Text(max_length=100)
    note = Text(max_length=2_000, allow_blank=True, default="")


class JudgementSetChange(StrictObject):
    """Changes to a judgement set; omitted fields stay unchanged."""

    name = Text(max_length=100, required=False)
    note = Text(max_length=2_000, allow_blank=True, required=False)


class JudgementCountsSerializer(serializers.Serializer[JudgementSetStats]):
    """Current counts of a judgement set."""

    queries = serializers.IntegerField()
    unjudged = serializers.IntegerField(help_text="queries without any grade")
    lost = serializers.IntegerField(help_text="answerable queries whose relevant memories are all gone")
    splits = serializers.DictField(
        source="parts", child=serializers.IntegerField(), help_text="queries by tune and holdout"
    )
    kinds = serializers.DictField(child=serializers.IntegerField(), help_text="queries by kind")
    grades = serializers.IntegerField(help_text="grades in effect")
    merged = serializers.IntegerField(help_text="grades that apply to the survivor of a merge")
    superseded = serializers.IntegerField(help_text="grades of memories superseded since")
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="grades no longer in effect, by the status of their memories"
    )


class JudgementSetSerializer(serializers.Serializer[Any]):
    """A judgement set."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    holds = JudgementCountsSerializer()


class JudgementSerializer(serializers.Serializer[Judgement]):
    """A grade as it was given."""

    memory = serializers.UUIDField(source="memory_id")
    grade = serializers.IntegerField()
    judged_at = serializers.DateTimeField()
    judged_by = serializers.CharField(allow_blank=True)


class JudgedQuerySerializer(serializers.Serializer[JudgedQuery]):
    """A query and its judgements."""

    id = serializers.UUIDField()
    query = serializers.CharField(source="text")
    kind = serializers.ChoiceField(choices=QueryKind.values)
    split = serializers.ChoiceField(
        source="part", choices=Part.values, help_text="derived from a hash of the query's text; never changes"
    )
    category = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    as_of = serializers.DateTimeField(allow_null=True)
    judgements = JudgementSerializer(many=True)


class JudgedQueriesQuery(PageQuery):
    """Filters of the query list."""

    q = Text(max_length=1_000, required=False, help_text="substring of the query's text, case-insensitive")
    split = OneOf(choices=Part.values, required=False)
    kind = OneOf(choices=QueryKind.values, required=False)
    category = Text(max_length=50, required=False)
    unjudged = Flag(in_query=True, required=False, help_text="whether it has no judgements")
    lost = Flag(in_query=True, required=False, help_text="whether its relevant memories are all gone")


class NewJudgedQueries(StrictObject):
    """Queries to store, with their judgements."""

    queries = ListOf(child=judgement_import.NewJudgedQuery(), min_length=1, max_length=MAX_ITEMS)


class PairGrade(StrictObject):
    """The grade of a query-memory pair."""

    query = Identifier()
    memory = Identifier()
    grade = Integer(min_value=judgement_import.GRADES[0], max_value=judgement_import.GRADES[-1])


class NewGrades(StrictObject):
    """Grades to store; the last one of a pair wins."""

    grades = ListOf(child=PairGrade(), min_length=1, max_length=MAX_ITEMS)


class QuerySampleSerializer(StrictObject):
    """How to sample queries from the traces."""

    days = Integer(
        min_value=1, max_value=query_sampling.MAX_DAYS, default=30, help_text="age limit of the traces, in days"
    )
    most = Integer(
        min_value=1, max_value=query_sampling.MAX_QUERIES, default=100, help_text="maximum number of queries"
    )
    way = OneOf(
        choices=list(query_sampling.SAMPLING_METHODS),
        default=query_sampling.SAMPLING_METHODS[0],
        help_text="frequent: most frequent queries; even: a hash-based sample regardless of frequency",
    )


class StoredCountsSerializer(serializers.Serializer[Any]):
    """How many queries and grades were stored."""

    queries = serializers.IntegerField(help_text="queries in the request")
    added = serializers.IntegerField(help_text="of them, queries new to the set")
    grades = serializers.IntegerField()
