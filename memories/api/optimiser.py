"""The optimiser and the ablation over REST."""

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.api.judgement_sets import find_judgement_set
from memories.jobs import tuning_jobs
from memories.models import JudgedQuery, JudgementSet, Namespace, TracedSet
from memories.models.choices import Part, Role
from memories.retrieval.config import UnknownProfileError, resolve_config
from memories.retrieval.query import Config
from memories.tuning import optimiser, traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import MAIN_METRIC, METRICS
from memories.tuning.objective import Objective
from memories.tuning.optimiser import SearchSpec
from memories.tuning.pareto import DIVERSITY, TRADEOFFS
from memories.tuning.retriever_ablation import ablate_retrievers
from memories.web.fields import Float, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.http_errors import Conflict, params_validation_error
from memories.web.serializers import QueryString, StrictObject
from scoring.params import ParamsError
from scoring.systems import SYSTEMS


class RankingConfigSerializer(StrictObject):
    """The ranking configuration: a system or a profile; default: the published profile."""

    system = OneOf(choices=list(SYSTEMS), required=False, help_text="a system with its defaults")
    profile = Text(max_length=120, required=False, help_text="a profile's name, or name@version")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject system and profile together."""
        if "system" in attrs and "profile" in attrs:
            raise ValidationError({"profile": ["must not be given with system: a profile has its own"]})
        return attrs


class EvaluationTargetSerializer(RankingConfigSerializer):
    """A judgement set and a ranking configuration."""

    set = Text(
        max_length=100, required=False, help_text="judgement set by name or id; default: the one with most queries"
    )
    metric = OneOf(choices=list(METRICS), default=MAIN_METRIC)


class OptimiseSerializer(EvaluationTargetSerializer):
    """What the optimiser searches for."""

    params = JsonObject(default=dict, help_text="parameter overrides of the starting point")
    move = ListOf(
        child=Text(max_length=100),
        max_length=100,
        default=list,
        help_text="parameters to tune, among those that need no new candidates; default: all of them",
    )
    price = Float(
        min_value=0, max_value=10, default=0.0, help_text="penalty on the metric per false abstention or false answer"
    )
    against = OneOf(
        choices=list(TRADEOFFS), default=DIVERSITY, help_text="the second objective of the Pareto front in `points`"
    )
    max_trials = Integer(
        min_value=2,
        max_value=optimiser.MAX_TRIALS,
        default=optimiser.DEFAULT_TRIALS,
        help_text="maximum number of trials",
    )
    seconds = Integer(
        min_value=1,
        max_value=optimiser.MAX_SECONDS,
        default=optimiser.DEFAULT_SECONDS,
        help_text="time limit in seconds",
    )
    seed = Integer(
        min_value=0, max_value=2**31 - 1, default=optimiser.DEFAULT_SEED, help_text="of the random number generator"
    )


class AblationQuery(QueryString, EvaluationTargetSerializer):
    """The judgement set and the configuration."""


class PairedEffectSerializer(serializers.Serializer[Any]):
    """The effect of a change, as a paired comparison over queries."""

    difference = serializers.FloatField()
    low = serializers.FloatField(help_text="of the 95 % interval")
    high = serializers.FloatField()
    p_value = serializers.FloatField(help_text="of the paired randomisation test")
    won = serializers.IntegerField(help_text="queries that improve")
    lost = serializers.IntegerField(help_text="queries that get worse")
    queries = serializers.IntegerField()


class RetrieverAblationSerializer(serializers.Serializer[Any]):
    """A system without one of its retrievers."""

    retriever = serializers.CharField()
    queries = serializers.IntegerField(help_text="queries for which it found anything")
    unique = serializers.IntegerField(help_text="relevant candidates that no other retriever found")
    returned = serializers.IntegerField(help_text="of those, in the results")
    mean = serializers.FloatField(help_text="the metric without it")
    gain = PairedEffectSerializer(help_text="effect of leaving it out")
    corrected = serializers.FloatField(help_text="p-value of the gain, Holm-corrected")


class AblationSerializer(serializers.Serializer[Any]):
    """Ablation of a system's retrievers."""

    metric = serializers.CharField()
    mean = serializers.FloatField(help_text="the metric with all retrievers")
    queries = serializers.IntegerField()
    relevant = serializers.IntegerField(help_text="relevant memories found by any retriever")
    retrievers = RetrieverAblationSerializer(many=True)
    overlap = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="of the top 10 of two retrievers, in the order of retrievers; null: never both found anything",
    )


class OptimiseView(NamespacedView):
    """Parameter search."""

    roles = {"POST": Role.WRITE}

    @extend_schema(operation_id="optimise", request=OptimiseSerializer, responses={202: JobSerializer}, tags=["tuning"])
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Search on the tune split of a judgement set, as a job; `jobs/{id}/stop/` ends it with the best so far."""
        spec = search_spec_from_body(self.namespace, OptimiseSerializer.from_request(request))
        job = tuning_jobs.submit_search_job(self.namespace, spec, by=self.access.caller)
        location = reverse("api-job", kwargs={"namespace": namespace, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})


class AblationView(NamespacedView):
    """Retriever ablation."""

    roles = {"GET": Role.READ}

    @extend_schema(operation_id="ablation", parameters=[AblationQuery], responses=AblationSerializer, tags=["tuning"])
    def get(self, request: Request, namespace: str) -> Response:
        """Return the metric without each retriever, what only that one found, and the overlap between retrievers."""
        query = AblationQuery.from_request(request)
        config = evaluation_config_from_body(self.namespace, query, {})
        traced_set = traced_set_or_409(self.namespace, find_judgement_set(self.namespace, query.get("set", "")), config)
        return Response(asdict(ablate_retrievers(cached_arrays(traced_set), config, Objective(query["metric"]))))


def traced_set_or_409(namespace: Namespace, judgement_set: JudgementSet, config: Config) -> TracedSet:
    """The cached candidates of a judgement set under a configuration; a conflict if its queries were not run yet."""
    traced = traced_sets.latest_traced_set(namespace, judgement_set, config)
    if traced is None:
        raise Conflict("This set has no candidates for this configuration yet; POST to evaluations/.", code="not_asked")
    return traced


def search_spec_from_body(namespace: Namespace, body: dict[str, Any]) -> SearchSpec:
    """The search specification of a validated body; unknown parameters and missing splits are rejected."""
    judgement_set, config = (
        find_judgement_set(namespace, body.get("set", "")),
        evaluation_config_from_body(namespace, body, body["params"]),
    )
    allowed = optimiser.tunable_params(config)
    unknown = [name for name in body["move"] if name not in allowed]
    if unknown:
        raise ValidationError({"move": [f"must be some of {', '.join(allowed)}; got {', '.join(unknown)}"]})
    splits = set(
        JudgedQuery.objects.within(namespace).filter(judgement_set_id=judgement_set.id).values_list("part", flat=True)
    )
    if missing := [split.value for split in Part if split not in splits]:
        raise ValidationError({"set": [f"must have queries to tune on and others held out; got none in {missing[0]}"]})
    return SearchSpec(
        set=judgement_set.id,
        config=config,
        move=tuple(dict.fromkeys(body["move"])) or tuple(allowed),
        objective=Objective(body["metric"], body["price"]),
        **{name: body[name] for name in ("against", "max_trials", "seconds", "seed")},
    )


def evaluation_config_from_body(namespace: Namespace, body: dict[str, Any], params: dict[str, Any]) -> Config:
    """The configuration a request names; unknown profiles and invalid parameters are rejected."""
    try:
        return resolve_config(namespace, system=body.get("system", ""), profile=body.get("profile", ""), params=params)
    except ParamsError as error:
        raise params_validation_error(error) from error
    except UnknownProfileError as error:
        message = f"must be a profile of this namespace, or name@version; got {error}"
        raise ValidationError({"profile": [message]}) from error
