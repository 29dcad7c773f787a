"""What is said of judged sets over REST: bodies, query strings and answers."""

from typing import Any

from rest_framework import serializers

from memories.api.fields import Choice, Flag, Identifier, Items, Text, Whole
from memories.api.paging import PageQuery
from memories.api.serializers import Object
from memories.judging import drawing, reading
from memories.judging.tallies import Tally
from memories.models import JudgedQuery, Judgement
from memories.models.choices import Part, QueryKind

AT_ONCE = 1_000  # queries or grades in one body
LARGEST = 20_000_000  # bytes of a body that brings queries


class NewSet(Object):
    """A set to be made."""

    name = Text(max_length=100)
    note = Text(max_length=2_000, allow_blank=True, default="")


class SetChange(Object):
    """What may change of a set; what is not named stays."""

    name = Text(max_length=100, required=False)
    note = Text(max_length=2_000, allow_blank=True, required=False)


class TallySerializer(serializers.Serializer[Tally]):
    """How much a set holds today."""

    queries = serializers.IntegerField()
    unjudged = serializers.IntegerField(help_text="queries without any grade")
    lost = serializers.IntegerField(help_text="queries that had an answer, and whose answers are all gone")
    parts = serializers.DictField(child=serializers.IntegerField(), help_text="queries by tune and holdout")
    kinds = serializers.DictField(child=serializers.IntegerField(), help_text="queries by kind")
    grades = serializers.IntegerField(help_text="that count")
    merged = serializers.IntegerField(help_text="grades that count for what absorbed the judged memory")
    superseded = serializers.IntegerField(help_text="grades of memories that were superseded since")
    left_out = serializers.DictField(
        child=serializers.IntegerField(), help_text="grades that count no more, by what became of their memories"
    )


class SetSerializer(serializers.Serializer[Any]):
    """A set of judged queries."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    holds = TallySerializer()


class JudgementSerializer(serializers.Serializer[Judgement]):
    """A grade as it was given."""

    memory = serializers.UUIDField(source="memory_id")
    grade = serializers.IntegerField()
    judged_at = serializers.DateTimeField()
    judged_by = serializers.CharField(allow_blank=True)


class JudgedQuerySerializer(serializers.Serializer[JudgedQuery]):
    """A query, and the memories that were judged for it."""

    id = serializers.UUIDField()
    query = serializers.CharField(source="text")
    kind = serializers.ChoiceField(choices=QueryKind.values)
    part = serializers.ChoiceField(choices=Part.values, help_text="decided by the query's text, for ever")
    category = serializers.CharField(allow_blank=True)
    user = serializers.CharField(allow_blank=True)
    as_of = serializers.DateTimeField(allow_null=True)
    judgements = JudgementSerializer(many=True)


class QueriesQuery(PageQuery):
    """Which queries of a set."""

    q = Text(max_length=1_000, required=False, help_text="part of the query's text, in any case")
    part = Choice(choices=Part.values, required=False)
    kind = Choice(choices=QueryKind.values, required=False)
    category = Text(max_length=50, required=False)
    unjudged = Flag(in_query=True, required=False, help_text="whether nobody has judged anything for it yet")
    lost = Flag(in_query=True, required=False, help_text="whether it had an answer, and its answers are all gone")


class NewQueries(Object):
    """Queries to be kept, with the grades they come with."""

    queries = Items(child=reading.NewJudgedQuery(), min_length=1, max_length=AT_ONCE)


class PairGrade(Object):
    """The grade of one pair."""

    query = Identifier()
    memory = Identifier()
    grade = Whole(min_value=reading.GRADES[0], max_value=reading.GRADES[-1])


class NewGrades(Object):
    """Grades to be kept; the last one of a pair counts."""

    grades = Items(child=PairGrade(), min_length=1, max_length=AT_ONCE)


class DrawSerializer(Object):
    """What to draw from the traces."""

    days = Whole(min_value=1, max_value=drawing.MOST_DAYS, default=30, help_text="of the last days")
    most = Whole(min_value=1, max_value=drawing.MOST, default=100, help_text="queries")
    way = Choice(
        choices=list(drawing.WAYS),
        default=drawing.WAYS[0],
        help_text="frequent: asked most often; even: a sample by hash, however often",
    )


class KeptSerializer(serializers.Serializer[Any]):
    """What became of what was brought."""

    queries = serializers.IntegerField(help_text="that were brought")
    added = serializers.IntegerField(help_text="of them, those that the set did not have")
    grades = serializers.IntegerField()
