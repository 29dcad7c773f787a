"""The optimiser and the ablation over REST."""

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api.base_view import NamespacedView
from memories.api.idempotency import idempotent
from memories.api.jobs import JobSerializer
from memories.jobs import tuning_jobs
from memories.models import JudgementSet, Namespace, TracedSet
from memories.models.choices import Role
from memories.retrieval.query import Config
from memories.tuning import traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.objective import Objective
from memories.tuning.retriever_ablation import ablate_retrievers
from memories.web.evaluation_bodies import (
    AblationQuery,
    OptimiseSerializer,
    evaluation_config_from_body,
    search_spec_from_body,
)
from memories.web.http_errors import Conflict
from memories.web.judgement_lookups import find_judgement_set


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
        raise Conflict(
            "This set has no candidates for this configuration yet; POST to evaluations/.", code="not_traced"
        )
    return traced
