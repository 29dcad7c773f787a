"""The optimiser and the ablation over REST."""

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.fields import Choice, Items, JsonObject, Real, Text, Whole
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgements import set_named
from memories.api.refusals import Conflict, wrong_params
from memories.api.serializers import Object, Query
from memories.api.views import NamespacedView
from memories.models import JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import Part, Role
from memories.retrieval.query import Setting
from memories.retrieval.settings import UnknownProfileError, setting
from memories.tuning import optimising, tracing
from memories.tuning.ablating import ablation
from memories.tuning.evaluating import MAIN, METRICS
from memories.tuning.holding import arrays
from memories.tuning.objective import Objective
from memories.tuning.optimising import Wish
from memories.tuning.pareto import AGAINST, DIVERSITY
from scoring.params import ParamsError
from scoring.systems import SYSTEMS


class RankedBy(Object):
    """By what is ranked: without system and profile, by what the namespace serves."""

    system = Choice(choices=list(SYSTEMS), required=False, help_text="a system with its own defaults")
    profile = Text(max_length=120, required=False, help_text="a profile's name, or name@version")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse two answers to one question."""
        if "system" in attrs and "profile" in attrs:
            raise ValidationError({"profile": ["must not come with system: a profile names its own"]})
        return attrs


class SetFields(RankedBy):
    """A judgement set, and by what it is ranked."""

    set = Text(max_length=100, required=False, help_text="a judgement set by name or id; else that with most queries")
    metric = Choice(choices=list(METRICS), default=MAIN)


class OptimiseSerializer(SetFields):
    """What to search for."""

    params = JsonObject(default=dict, help_text="parameters on top, from which the search starts")
    move = Items(
        child=Text(max_length=100),
        max_length=100,
        default=list,
        help_text="the parameters to move, of those that need no new candidates; without it all of them",
    )
    price = Real(
        min_value=0, max_value=10, default=0.0, help_text="what an answer that is lost or invented costs of the metric"
    )
    against = Choice(choices=list(AGAINST), default=DIVERSITY, help_text="what quality is held against in `points`")
    settings = Whole(
        min_value=2, max_value=optimising.MOST_SETTINGS, default=optimising.SETTINGS, help_text="tried at most"
    )
    seconds = Whole(
        min_value=1, max_value=optimising.MOST_SECONDS, default=optimising.SECONDS, help_text="spent at most"
    )
    seed = Whole(min_value=0, max_value=2**31 - 1, default=optimising.SEED, help_text="the same one tries the same")


class AblationQuery(Query, SetFields):
    """Which set, and which system."""


class GainSerializer(serializers.Serializer[Any]):
    """How much a change brings, query by query."""

    difference = serializers.FloatField()
    low = serializers.FloatField(help_text="of the 95 % interval")
    high = serializers.FloatField()
    chance = serializers.FloatField(help_text="that signs alone bring as much")
    won = serializers.IntegerField(help_text="queries")
    lost = serializers.IntegerField()
    queries = serializers.IntegerField()


class AblatedSerializer(serializers.Serializer[Any]):
    """A system without one of its retrievers."""

    route = serializers.CharField()
    queries = serializers.IntegerField(help_text="in which it found anything")
    unique = serializers.IntegerField(help_text="relevant candidates that nobody else found")
    returned = serializers.IntegerField(help_text="of those, in an answer")
    mean = serializers.FloatField(help_text="the metric without it")
    gain = GainSerializer(help_text="of leaving it out")
    corrected = serializers.FloatField(help_text="the gain's chance, raised for how many are left out (Holm)")


class AblationSerializer(serializers.Serializer[Any]):
    """What the retrievers of a system are good for."""

    metric = serializers.CharField()
    mean = serializers.FloatField(help_text="with all of them")
    queries = serializers.IntegerField()
    relevant = serializers.IntegerField(help_text="judged relevant, and found by anybody")
    routes = AblatedSerializer(many=True)
    overlap = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="of the first ten of two lists, in the order of routes; null where never both found anything",
    )


class Optimise(NamespacedView):
    """A search for a better setting."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="optimise", request=OptimiseSerializer, responses={202: JobSerializer}, tags=["tuning"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Search on the tune part of a judgement set, as a job; `jobs/{id}/stop/` ends it with the best so far."""
        wish = wish_of(self.namespace, OptimiseSerializer.of(request))
        job = optimising.begin(self.namespace, wish, by=self.access.caller)
        address = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": address})


class Ablation(NamespacedView):
    """A system without each of its retrievers."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="ablation", parameters=[AblationQuery], responses=AblationSerializer, tags=["tuning"])
    def get(self, request: Request, namespace: str) -> Response:
        """Tell the metric without each retriever, what only it found, and how much their lists have in common."""
        asked = AblationQuery.of(request)
        ranked_by = setting_of(self.namespace, asked, {})
        whole = asked_for(self.namespace, set_named(self.namespace, asked.get("set", "")), ranked_by)
        return Response(asdict(ablation(arrays(whole), ranked_by, Objective(asked["metric"]))))


def asked_for(namespace: Namespace, judged: JudgementSet, ranked_by: Setting) -> TracedSet:
    """A set as it was asked under the candidates of a setting, or where that is to be had."""
    traced = tracing.traced(namespace, judged, ranked_by)
    if traced is None:
        raise Conflict("This set was not asked under these candidates yet; evaluations/ asks it.", code="not_asked")
    return traced


def wish_of(namespace: Namespace, asked: dict[str, Any]) -> Wish:
    """What is to be searched, or what is wrong with it."""
    judged, start = set_named(namespace, asked.get("set", "")), setting_of(namespace, asked, asked["params"])
    allowed = optimising.movable(start)
    unknown = [name for name in asked["move"] if name not in allowed]
    if unknown:
        raise ValidationError({"move": [f"must be some of {', '.join(allowed)}; got {', '.join(unknown)}"]})
    parts = set(JudgedQuery.objects.within(namespace).filter(judgement_set_id=judged.id).values_list("part", flat=True))
    if missing := [part.value for part in Part if part not in parts]:
        raise ValidationError({"set": [f"must have queries to tune on and others held out; got none in {missing[0]}"]})
    return Wish(
        set=judged.id,
        setting=start,
        move=tuple(dict.fromkeys(asked["move"])) or tuple(allowed),
        objective=Objective(asked["metric"], asked["price"]),
        **{name: asked[name] for name in ("against", "settings", "seconds", "seed")},
    )


def setting_of(namespace: Namespace, asked: dict[str, Any], params: dict[str, Any]) -> Setting:
    """The setting that is named, or what is wrong with it."""
    try:
        return setting(namespace, system=asked.get("system", ""), profile=asked.get("profile", ""), params=params)
    except ParamsError as error:
        raise wrong_params(error) from error
    except UnknownProfileError as error:
        wrong = f"must be a profile of this namespace, or name@version; got {error}"
        raise ValidationError({"profile": [wrong]}) from error
