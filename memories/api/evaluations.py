"""How good a setting is on judged queries, over REST: measured live from what was asked once, and kept."""

import time
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Flag, Identifier, JsonObject, Text
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgements import set_named
from memories.api.optimise import GainSerializer, RankedBy, SetFields, asked_for, setting_of
from memories.api.paging import PageQuery, page, paged
from memories.api.profiles import EvaluationSerializer, MetricSerializer
from memories.api.refusals import Conflict
from memories.api.serializers import Query
from memories.api.views import NamespacedView
from memories.jobs.starting import BusyError
from memories.models import Evaluation, JudgementSet, Namespace
from memories.models.choices import Part, Role
from memories.retrieval.query import Setting
from memories.tuning import evaluations, tracing
from memories.tuning.evaluating import Compared, Measured, compared, measured, shared
from memories.tuning.holding import arrays
from memories.tuning.optimising import movable
from memories.tuning.sensitivity import asking_again, curves
from scoring.resampling import bootstrap

MOST_MOVED = 200  # queries that are named
PATIENCE = 5.0  # seconds that one look at the curves may take


class Against(RankedBy):
    """What a setting is held against."""

    params = JsonObject(default=dict, help_text="parameters on top")


class MeasureSerializer(SetFields):
    """What to measure, on what, and against what."""

    params = JsonObject(default=dict, help_text="parameters on top")
    part = Choice(choices=Part.values, required=False, help_text="else all queries")
    against = Against(required=False, help_text="another setting, to tell which queries win and lose by `metric`")
    record = Flag(default=True, help_text="whether the evaluation is kept")
    ask = Flag(default=False, help_text="have the questions asked again first, where something came since")


class EvaluationsQuery(PageQuery):
    """Which evaluations."""

    set = Text(max_length=100, required=False, help_text="a judgement set by name or id")
    version = Identifier(required=False, help_text="of a profile")


class SensitivityQuery(Query, SetFields):
    """Of which setting, on what."""

    part = Choice(choices=Part.values, required=False, help_text="else all queries")
    param = Text(max_length=100, required=False, help_text="one parameter alone; else all that move the score")


class EvaluationRowSerializer(EvaluationSerializer):
    """What was measured of which setting."""

    system = serializers.CharField()
    params = serializers.DictField(help_text="those that were given")
    profile_version_id = serializers.UUIDField(allow_null=True, help_text="null: no version as it stands")
    took_ms = serializers.FloatField()


class CategorySerializer(serializers.Serializer[Any]):
    """The queries of one category."""

    category = serializers.CharField()
    metrics = serializers.DictField(child=MetricSerializer())


class MovedSerializer(serializers.Serializer[Any]):
    """A query that wins or loses."""

    query = serializers.UUIDField()
    text = serializers.CharField()
    before = serializers.FloatField()
    after = serializers.FloatField()


class ComparedSerializer(GainSerializer):
    """A setting held against another, query by query."""

    metric = serializers.CharField()
    metrics = serializers.DictField(child=MetricSerializer(), help_text="of the other one")
    moved = MovedSerializer(many=True, help_text=f"the {MOST_MOVED} that move most, the largest gain first")


class MeasuredSerializer(serializers.Serializer[Any]):
    """How good a setting is on the queries of a set."""

    evaluation = serializers.UUIDField(allow_null=True, help_text="as it is kept; null: it is not")
    set = serializers.UUIDField()
    part = serializers.ChoiceField(choices=Part.values, allow_blank=True, help_text="empty: all queries")
    system = serializers.CharField()
    params = serializers.DictField(help_text="those that are given")
    metrics = serializers.DictField(child=MetricSerializer())
    categories = CategorySerializer(many=True)
    unjudged = serializers.FloatField(help_text="share of what comes back that nobody has judged")
    against = ComparedSerializer(allow_null=True)
    asked_at = serializers.DateTimeField(help_text="when the questions were asked")
    written_since = serializers.IntegerField(help_text="how often memories were written since")
    took_ms = serializers.FloatField()


class CurveSerializer(serializers.Serializer[Any]):
    """A metric over the range of one parameter, all others as they stand."""

    name = serializers.CharField()
    values = serializers.ListField(help_text="numbers, words, or false and true")
    metric = serializers.ListField(child=serializers.FloatField(), help_text="at each value")
    best = serializers.JSONField(help_text="the value at which the metric is highest")
    lowest = serializers.FloatField()
    highest = serializers.FloatField()


class SensitivitySerializer(serializers.Serializer[Any]):
    """What each parameter alone can do to a metric."""

    metric = serializers.CharField()
    here = serializers.FloatField(help_text="as all parameters stand")
    curves = CurveSerializer(many=True)
    left = serializers.ListField(child=serializers.CharField(), help_text="for which there was no time: ask again")
    asks_again = serializers.ListField(
        child=serializers.CharField(),
        help_text="decide about the candidates: every value needs the questions asked anew",
    )


class Evaluations(NamespacedView):
    """What was measured, and what is to be."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="evaluations",
        parameters=[EvaluationsQuery],
        responses=paged("EvaluationPage", EvaluationRowSerializer),
        tags=["tuning"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List what was measured, newest first."""
        query = EvaluationsQuery.of(request)
        rows = Evaluation.objects.within(self.namespace).defer("per_query")
        if "set" in query:
            rows = rows.filter(judgement_set_id=set_named(self.namespace, query["set"]).id)
        if "version" in query:
            rows = rows.filter(profile_version_id=query["version"])
        return Response(page(request, self.namespace, rows, query).answer(EvaluationRowSerializer))

    @extend_schema(
        operation_id="measure",
        request=MeasureSerializer,
        responses={200: MeasuredSerializer, 201: MeasuredSerializer, 202: JobSerializer},
        tags=["tuning"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Measure a setting on a judgement set, perhaps against another: 201 where it is kept, else 200.

        Where the questions were not asked yet under its candidates, a job asks them (202): call again when it is done.
        """
        began = time.perf_counter()
        asked = MeasureSerializer.of(request)
        judged = set_named(self.namespace, asked.get("set", ""))
        setting = setting_of(self.namespace, asked, asked["params"])
        other = other_of(self.namespace, asked["against"]) if "against" in asked else None
        for one in filter(None, (setting, other)):
            if wanting(self.namespace, judged, one, again=asked["ask"]):
                return self.asking(judged, one)
        told = self.told(judged, setting, other, asked)
        took_ms = 1000 * (time.perf_counter() - began)
        found = told.pop("found")
        kept = None
        if asked["record"]:
            version, by = None if asked["params"] else setting.version_id, self.access.caller
            kept = evaluations.kept(
                self.namespace, judged, found, asked.get("part", ""), version=version, by=by, took_ms=took_ms
            )
        told |= {"evaluation": kept and kept.id, "took_ms": took_ms}
        return Response(MeasuredSerializer(told).data, status=201 if kept else 200)

    def asking(self, judged: JudgementSet, setting: Setting) -> Response:
        """Have the questions asked."""
        try:
            job = tracing.begin(self.namespace, judged, setting, by=self.access.caller)
        except BusyError as error:
            raise Conflict(str(error), code="job_unfinished") from error
        address = reverse("api-job", kwargs={"namespace": self.namespace.slug, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": address})

    def told(
        self, judged: JudgementSet, setting: Setting, other: Setting | None, asked: dict[str, Any]
    ) -> dict[str, Any]:
        """All that is known of a setting on a set."""
        part = asked.get("part", "")
        whole = asked_for(self.namespace, judged, setting)
        found, against = measured(arrays(whole), setting), None
        if other is not None:
            theirs = measured(arrays(asked_for(self.namespace, judged, other)), other)
            before, found = shared(theirs, found)
            against = held(before, found, compared(before, found, asked["metric"], part), part)
        return {
            "found": found,
            "set": judged.id,
            "part": part,
            "system": setting.system.name,
            "params": dict(setting.given),
            "metrics": evaluations.metrics(found, part),
            "categories": [
                {"category": name, "metrics": evaluations.metrics(found, part, name)}
                for name in evaluations.categories(found, part)
            ],
            "unjudged": found.unjudged(part),
            "against": against,
            "asked_at": whole.begun_at,
            "written_since": tracing.writes_of(self.namespace) - whole.writes,
        }


class Sensitivity(NamespacedView):
    """What each parameter does to a metric."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="sensitivity", parameters=[SensitivityQuery], responses=SensitivitySerializer, tags=["tuning"]
    )
    def get(self, request: Request, namespace: str) -> Response:
        """Tell the metric over the range of each parameter, all others as they stand."""
        asked = SensitivityQuery.of(request)
        setting, part = setting_of(self.namespace, asked, {}), asked.get("part", "")
        names = movable(setting)
        if "param" in asked and asked["param"] not in names:
            wrong = f"must be one of {', '.join(names)}; got {asked['param']}"
            raise ValidationError({"param": [wrong]})
        names = [asked["param"]] if "param" in asked else names
        whole = arrays(asked_for(self.namespace, set_named(self.namespace, asked.get("set", "")), setting))
        found = list(curves(whole, setting, asked["metric"], part, PATIENCE, names))
        told = {
            "metric": asked["metric"],
            "here": measured(whole, setting).mean(asked["metric"], part),
            "curves": found,
            "left": names[len(found) :],
            "asks_again": asking_again(setting),
        }
        return Response(SensitivitySerializer(told).data)


def other_of(namespace: Namespace, against: dict[str, Any]) -> Setting:
    """The setting to hold another against, or what is wrong with it."""
    try:
        return setting_of(namespace, against, against["params"])
    except ValidationError as error:
        raise ValidationError({"against": error.detail}) from error


def wanting(namespace: Namespace, judged: JudgementSet, setting: Setting, *, again: bool) -> bool:
    """Whether the questions must be asked first."""
    return (tracing.current if again else tracing.traced)(namespace, judged, setting) is None


def held(before: Measured, after: Measured, found: Compared, part: str) -> dict[str, Any]:
    """One setting against another as JSON."""
    chosen = after.chosen(found.metric, part)
    mean, low, high = bootstrap(found.moves[chosen][:, None])[0]
    order = sorted(found.moves.nonzero()[0].tolist(), key=lambda row: -abs(found.moves[row]))[:MOST_MOVED]
    each = [one.each[found.metric] for one in (before, after)]
    moved = [
        {
            "query": after.arrays.queries[row].id,
            "text": after.arrays.queries[row].text,
            "before": float(each[0][row]),
            "after": float(each[1][row]),
        }
        for row in sorted(order, key=lambda row: -found.moves[row])
    ]
    return {
        "metric": found.metric,
        "metrics": evaluations.metrics(before, part),
        "difference": mean,
        "low": low,
        "high": high,
        "chance": found.chance,
        "won": found.won,
        "lost": found.lost,
        "queries": int(chosen.sum()),
        "moved": moved,
    }
