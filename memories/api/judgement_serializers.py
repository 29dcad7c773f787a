"""Response serializers of judgement sets."""

from typing import Any

from rest_framework import serializers

from memories.models import JudgedQuery, Judgement
from memories.models.choices import QueryKind, Split
from memories.tuning.judgement_set_stats import JudgementSetStats


class JudgementCountsSerializer(serializers.Serializer[JudgementSetStats]):
    """Current counts of a judgement set."""

    queries = serializers.IntegerField()
    unjudged = serializers.IntegerField(help_text="queries without any grade")
    without_answers = serializers.IntegerField(help_text="answerable queries whose relevant memories are all gone")
    splits = serializers.DictField(child=serializers.IntegerField(), help_text="queries by tune and holdout")
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
        choices=Split.values, help_text="derived from a hash of the query's text; never changes"
    )
    category = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    as_of = serializers.DateTimeField(allow_null=True)
    judgements = JudgementSerializer(many=True)


class StoredCountsSerializer(serializers.Serializer[Any]):
    """How many queries and grades were stored."""

    queries = serializers.IntegerField(help_text="queries in the request")
    added = serializers.IntegerField(help_text="of them, queries new to the set")
    grades = serializers.IntegerField()
