"""Retrieval over REST: ask, compare systems, ask why not."""

from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories import metrics
from memories.api.fields import Choice, Flag, Identifier, Items, JsonObject, Moment, Text, Whole
from memories.api.refusals import wrong_params
from memories.api.renderers import LargeAnswerRenderer
from memories.api.serializers import Object
from memories.api.times import check_past
from memories.api.views import NamespacedView
from memories.models import Memory, Namespace
from memories.models.choices import ChunkLevel, MemoryType, Role, Status
from memories.retrieval import accessing, tracing
from memories.retrieval.answer import ids_of, told
from memories.retrieval.comparing import agreement, compare
from memories.retrieval.context import block
from memories.retrieval.query import Filters, Query, Setting
from memories.retrieval.retrieve import retrieve
from memories.retrieval.settings import UnknownProfileError, setting
from memories.retrieval.why_not import why_not
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

LONGEST_QUERY = 10_000  # characters
MARKDOWN = "text/markdown"
FILTERS = ("types", "tags", "users", "levels")


class QuerySerializer(Object):
    """A question to a namespace."""

    query = Text(max_length=LONGEST_QUERY)
    top_k = Whole(min_value=1, max_value=100, default=10, help_text="how many come back at most")
    types = Items(child=Choice(choices=MemoryType.values), max_length=5, default=list, help_text="one of these types")
    tags = Items(child=Text(max_length=100), max_length=50, default=list, help_text="with one of these tags")
    users = Items(child=Text(max_length=200, allow_blank=True), max_length=50, default=list, help_text="of these users")
    levels = Items(
        child=Choice(choices=ChunkLevel.values),
        max_length=4,
        default=list,
        help_text="without it statements, and for memsense conversations too",
    )
    user = Text(max_length=200, allow_blank=True, default="", help_text="who asks: what they use most is lifted")
    session = Text(
        max_length=200, allow_blank=True, default="", help_text="the conversation: an access counts once in it"
    )
    as_of = Moment(required=False, help_text="a past moment to answer from")


class SettingSerializer(QuerySerializer):
    """A question, and by what it is ranked: without system and profile, by what the namespace serves."""

    system = Choice(choices=list(SYSTEMS), required=False, help_text="a system with its own defaults")
    profile = Text(max_length=120, required=False, help_text="a profile's name, or name@version")
    params = JsonObject(default=dict, help_text="parameters on top; GET systems/ declares them")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse two answers to one question."""
        if "system" in attrs and "profile" in attrs:
            raise ValidationError({"profile": ["must not come with system: a profile names its own"]})
        return attrs


class RetrieveSerializer(SettingSerializer):
    """What to retrieve, and how to tell it."""

    explain = Choice(choices=["none", "parts", "full"], default="parts", help_text="how much of each score's tree")
    record = Flag(default=True, help_text="whether this counts as an access of what comes back")
    format = Choice(choices=["json", "markdown"], default="json", help_text="markdown: the context block alone")
    token_budget = Whole(min_value=50, max_value=1_000_000, required=False, help_text="of the context, roughly")


class WhyNotSerializer(SettingSerializer):
    """A question, and the memory that was missed."""

    memory = Identifier()


class RetrieverSerializer(serializers.Serializer[Any]):
    """How one list has a memory."""

    rank = serializers.IntegerField()
    score = serializers.FloatField(help_text="the list's own")
    contribution = serializers.FloatField(allow_null=True, help_text="what that brought to the score")


class ResultSerializer(serializers.Serializer[Any]):
    """A memory that came back; beside these, what its system tells of it."""

    id = serializers.UUIDField()
    type = serializers.CharField()
    level = serializers.CharField()
    content = serializers.CharField()
    confidence = serializers.FloatField()
    age_days = serializers.FloatField()
    rank = serializers.IntegerField()
    score = serializers.FloatField()
    retrievers = serializers.DictField(child=RetrieverSerializer())
    outdated = serializers.BooleanField(help_text="whether a later one that holds contradicts it")
    conflicts_with = serializers.ListField(child=serializers.UUIDField(), required=False)
    gone = serializers.BooleanField(required=False, help_text="in a replay: forgotten since, so its words are not told")
    explanation = serializers.DictField(required=False, help_text="{name, value, op, parts}")
    selection = serializers.DictField(required=False, help_text="{step, relevance, redundancy, nearest}")


class ProfileSerializer(serializers.Serializer[Any]):
    """By what it was ranked."""

    name = serializers.CharField(allow_null=True, help_text="null: no profile, but a system as it ships")
    version = serializers.IntegerField(allow_null=True)
    system = serializers.CharField()


class LateSerializer(serializers.Serializer[Any]):
    """A retriever that was left out."""

    retriever = serializers.CharField()
    reason = serializers.CharField()


class AnswerSerializer(serializers.Serializer[Any]):
    """What came back, why, and what did not."""

    trace = serializers.UUIDField(allow_null=True, help_text="by which it can be replayed; null: none was kept")
    profile = ProfileSerializer()
    plan = serializers.DictField(
        help_text="{name, retrievers, specificity, reranker, params, entities, window, embedded}"
    )
    results = ResultSerializer(many=True)
    context = serializers.DictField(help_text="the current results by type")  # type: ignore[assignment]
    filtered = serializers.DictField(child=serializers.IntegerField(), help_text="candidates held back, by gate")
    late = LateSerializer(many=True)
    tiebreak_applied = serializers.BooleanField()
    abstained = serializers.BooleanField()
    chance = serializers.FloatField(help_text="that the best hit answers the query, where the system estimates it")
    reason = serializers.CharField(allow_blank=True, help_text="why nothing came back, or is handed on")
    nearest = serializers.ListField(child=serializers.DictField(), help_text="the best that were held back")
    as_of = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(allow_blank=True, help_text="what an answer about the past takes from today")
    took_ms = serializers.DictField(child=serializers.FloatField())


class AgreementSerializer(serializers.Serializer[Any]):
    """How far two systems agree."""

    systems = serializers.ListField(child=serializers.CharField())
    kendall_tau = serializers.FloatField(allow_null=True, help_text="null where they share fewer than two memories")
    rbo = serializers.FloatField(help_text="rank-biased overlap, p = .9")


class ComparisonSerializer(serializers.Serializer[Any]):
    """Every system's answer, and how far each two agree."""

    answers = serializers.DictField(child=AnswerSerializer())
    agreement = AgreementSerializer(many=True)


class ParameterChangeSerializer(serializers.Serializer[Any]):
    """One parameter moved."""

    param = serializers.CharField()
    before = serializers.JSONField()
    after = serializers.JSONField()
    fraction = serializers.FloatField(help_text="of its range")
    rank = serializers.IntegerField(help_text="where the memory then stands")


class WhyNotAnswerSerializer(serializers.Serializer[Any]):
    """What kept a memory from coming back."""

    rank = serializers.IntegerField(allow_null=True, help_text="null: it did not come back")
    outside = serializers.ListField(child=serializers.CharField(), help_text="why it cannot be a candidate")
    gates = serializers.ListField(child=serializers.CharField(), help_text="what holds it back as a candidate")
    retrievers = serializers.DictField(help_text="by name: {rank, score, why}")
    score = serializers.FloatField(allow_null=True)
    needed = serializers.FloatField(allow_null=True, help_text="the score of the last that came back")
    change = ParameterChangeSerializer(allow_null=True, help_text="the smallest single change that brings it in")
    tried = serializers.ListField(child=serializers.CharField(), help_text="the parameters that were tried for it")
    reason = serializers.CharField()


class Retrieve(NamespacedView):
    """Ask a namespace."""

    roles = {"POST": Role.READ}
    renderer_classes = [LargeAnswerRenderer]

    @extend_schema(
        operation_id="retrieve",
        request=RetrieveSerializer,
        responses={
            (200, "application/json"): AnswerSerializer,
            (200, MARKDOWN): OpenApiResponse(str, "The context block, with format=markdown."),
        },
        tags=["retrieval"],
    )
    def post(self, request: Request, namespace: str) -> Response | HttpResponse:
        """Give the memories that answer a query, each with its reasons; an empty answer says why it is."""
        asked = RetrieveSerializer.of(request)
        retrieval = retrieve(query_of(self.namespace, asked))
        answer = told(retrieval, explain=asked["explain"], token_budget=asked.get("token_budget"))
        answer["trace"] = tracing.write(retrieval, answer, key=self.access.key) if tracing.sampled() else None
        metrics.retrieved(retrieval, abstained=answer["abstained"])
        if asked["record"]:
            accessing.record(retrieval.query, ids_of(answer["results"]))
        if asked["format"] == "markdown":
            pasted = block(answer, asked.get("token_budget"))
            return HttpResponse(pasted, content_type=f"{MARKDOWN}; charset=utf-8")
        return Response(answer)


class Compare(NamespacedView):
    """One query, all systems."""

    roles = {"POST": Role.READ}

    @extend_schema(operation_id="compare", request=QuerySerializer, responses=ComparisonSerializer, tags=["retrieval"])
    def post(self, request: Request, namespace: str) -> Response:
        """Rank one query by every system with its own defaults, side by side; nothing is recorded."""
        asked = QuerySerializer.of(request)
        each = {name: setting(self.namespace, system=name, params={}) for name in SYSTEMS}
        found = compare(query_of(self.namespace, asked, next(iter(each.values()))), each)
        answers = {name: {**told(one, explain="none"), "trace": None} for name, one in found.items()}
        rankings = {name: [str(id) for id in ids_of(answer["results"])] for name, answer in answers.items()}
        return Response({"answers": answers, "agreement": agreement(rankings)})


class WhyNot(NamespacedView):
    """The memory that did not come back."""

    roles = {"POST": Role.READ}

    @extend_schema(
        operation_id="why_not", request=WhyNotSerializer, responses=WhyNotAnswerSerializer, tags=["retrieval"]
    )
    def post(self, request: Request, namespace: str) -> Response:
        """Tell what stopped a memory, and the smallest change of a parameter that brings it in."""
        asked = WhyNotSerializer.of(request)
        memory = Memory.objects.within(self.namespace).filter(id=asked["memory"]).exclude(status=Status.FORGOTTEN)
        if not memory.exists():
            raise Http404(f"There is no memory {asked['memory']} here.")
        return Response(asdict(why_not(query_of(self.namespace, asked), asked["memory"])))


def query_of(namespace: Namespace, asked: dict[str, Any], ranked_by: Setting | None = None) -> Query:
    """A checked body as a query; a moment to come, an unknown profile and wrong parameters are refused."""
    check_past(namespace, asked, "as_of")
    return Query(
        namespace=namespace,
        text=asked["query"],
        setting=ranked_by or setting_of(namespace, asked),
        top_k=asked["top_k"],
        filters=Filters(*(tuple(asked[name]) for name in FILTERS)),
        user=asked["user"],
        session=asked["session"],
        as_of=asked.get("as_of"),
    )


def setting_of(namespace: Namespace, asked: dict[str, Any]) -> Setting:
    """The setting that a body names."""
    named = {name: asked[name] for name in ("system", "profile") if name in asked}
    try:
        return setting(namespace, **named, params=asked["params"])
    except UnknownProfileError as error:
        wrong = f"must be a profile of this namespace, or name@version; got {asked['profile']}"
        raise ValidationError({"profile": [wrong]}) from error
    except ParamsError as error:
        raise wrong_params(error) from error
