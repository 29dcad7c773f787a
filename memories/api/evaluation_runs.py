"""Evaluation of configurations over REST: metrics on a judgement set, computed from cached candidates and stored."""

import time
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
from memories.api.optimiser import PairedEffectSerializer, traced_set_or_409
from memories.api.profile_versions import EvaluationSerializer, MetricSerializer
from memories.jobs import tuning_jobs
from memories.models import Evaluation, JudgementSet, Namespace
from memories.models.choices import Role, Split
from memories.retrieval.query import Config
from memories.tuning import evaluation_records, traced_sets
from memories.tuning.array_cache import cached_arrays
from memories.tuning.measurement import (
    Measurement,
    PairedComparison,
    align_measurements,
    compare_measurements,
    measure_config,
)
from memories.tuning.optimiser import tunable_params
from memories.tuning.sensitivity import params_needing_new_query, sensitivity_curves
from memories.web.evaluation_bodies import (
    EvaluationTargetSerializer,
    RankingConfigSerializer,
    evaluation_config_from_body,
)
from memories.web.fields import Flag, Identifier, JsonObject, OneOf, Text
from memories.web.judgement_lookups import find_judgement_set
from memories.web.pagination import PageQuery, page_schema, paginate
from memories.web.serializers import QueryString
from scoring.resampling import bootstrap

MAX_CHANGED_QUERIES = 200  # queries listed
CURVE_SECONDS = 5.0  # seconds per request for sensitivity curves


class BaselineSerializer(RankingConfigSerializer):
    """The configuration to compare against."""

    params = JsonObject(default=dict, help_text="parameter overrides")


class EvaluationRequestSerializer(EvaluationTargetSerializer):
    """The configuration to evaluate, the judgement set, and a baseline."""

    params = JsonObject(default=dict, help_text="parameter overrides")
    split = OneOf(choices=Split.values, required=False, help_text="default: all queries")
    against = BaselineSerializer(required=False, help_text="baseline; returns which queries win and lose by `metric`")
    record = Flag(default=True, help_text="whether the evaluation is stored")
    refresh = Flag(default=False, help_text="run the queries again first if memories were written since")


class EvaluationsQuery(PageQuery):
    """Filters of the evaluation list."""

    set = Text(max_length=100, required=False, help_text="a judgement set by name or id")
    version = Identifier(required=False, help_text="profile version")


class SensitivityQuery(QueryString, EvaluationTargetSerializer):
    """The configuration and the judgement set."""

    split = OneOf(choices=Split.values, required=False, help_text="default: all queries")
    param = Text(max_length=100, required=False, help_text="one parameter; default: all that affect the score")


class EvaluationRowSerializer(EvaluationSerializer):
    """A stored evaluation and its configuration."""

    system = serializers.CharField()
    params = serializers.DictField(help_text="non-default parameters")
    profile_version_id = serializers.UUIDField(allow_null=True, help_text="null: not an unmodified profile version")
    took_ms = serializers.FloatField()


class CategoryMetricsSerializer(serializers.Serializer[Any]):
    """The metrics of one query category."""

    category = serializers.CharField()
    metrics = serializers.DictField(child=MetricSerializer())


class QueryChangeSerializer(serializers.Serializer[Any]):
    """A query whose metric changed."""

    query = serializers.UUIDField()
    text = serializers.CharField()
    before = serializers.FloatField()
    after = serializers.FloatField()


class BaselineComparisonSerializer(PairedEffectSerializer):
    """A paired comparison of two configurations, query by query."""

    metric = serializers.CharField()
    metrics = serializers.DictField(child=MetricSerializer(), help_text="of the baseline")
    moved = QueryChangeSerializer(many=True, help_text=f"the {MAX_CHANGED_QUERIES} largest changes, largest gain first")


class EvaluationResultSerializer(serializers.Serializer[Any]):
    """The metrics of a configuration on a judgement set."""

    evaluation = serializers.UUIDField(allow_null=True, help_text="id of the stored evaluation; null: not stored")
    set = serializers.UUIDField()
    split = serializers.ChoiceField(choices=Split.values, allow_blank=True, help_text="empty: all queries")
    system = serializers.CharField()
    params = serializers.DictField(help_text="non-default parameters")
    metrics = serializers.DictField(child=MetricSerializer())
    categories = CategoryMetricsSerializer(many=True)
    unjudged = serializers.FloatField(help_text="share of the results without a judgement")
    against = BaselineComparisonSerializer(allow_null=True)
    traced_at = serializers.DateTimeField(help_text="when the queries were run")
    written_since = serializers.IntegerField(help_text="number of writes to the namespace since")
    took_ms = serializers.FloatField()


class SensitivityCurveSerializer(serializers.Serializer[Any]):
    """A metric over the range of one parameter, all others unchanged."""

    name = serializers.CharField()
    values = serializers.ListField(help_text="numbers, choices or booleans")
    metric = serializers.ListField(child=serializers.FloatField(), help_text="at each value")
    best = serializers.JSONField(help_text="the value that maximises the metric")
    lowest = serializers.FloatField()
    highest = serializers.FloatField()


class SensitivitySerializer(serializers.Serializer[Any]):
    """Sensitivity of a metric to each parameter."""

    metric = serializers.CharField()
    current = serializers.FloatField(help_text="the metric at the current values")
    curves = SensitivityCurveSerializer(many=True)
    left = serializers.ListField(
        child=serializers.CharField(), help_text="parameters not computed within the time limit: repeat the request"
    )
    needs_new_query = serializers.ListField(
        child=serializers.CharField(),
        help_text="parameters that change the candidates: every value needs new queries",
    )


class EvaluationsView(NamespacedView):
    """Stored evaluations, and new ones."""

    roles = {"GET": Role.READ, "POST": Role.WRITE}

    @extend_schema(
        operation_id="evaluations",
        parameters=[EvaluationsQuery],
        responses=page_schema("EvaluationPage", EvaluationRowSerializer),
        tags=["tuning"],
    )
    def get(self, request: Request, namespace: str) -> Response:
        """List stored evaluations, newest first."""
        query = EvaluationsQuery.from_request(request)
        rows = Evaluation.objects.within(self.namespace).defer("per_query")
        if "set" in query:
            rows = rows.filter(judgement_set_id=find_judgement_set(self.namespace, query["set"]).id)
        if "version" in query:
            rows = rows.filter(profile_version_id=query["version"])
        return Response(paginate(request, self.namespace, rows, query).to_dict(EvaluationRowSerializer))

    @extend_schema(
        operation_id="measure",
        request=EvaluationRequestSerializer,
        responses={200: EvaluationResultSerializer, 201: EvaluationResultSerializer, 202: JobSerializer},
        tags=["tuning"],
    )
    @idempotent
    def post(self, request: Request, namespace: str) -> Response:
        """Evaluate a configuration on a judgement set, optionally against a baseline: 201 if stored, else 200.

        If its candidates are not cached yet, a job runs the queries (202): repeat the request when it is done.
        """
        started_at = time.perf_counter()
        body = EvaluationRequestSerializer.from_request(request)
        judgement_set = find_judgement_set(self.namespace, body.get("set", ""))
        config = evaluation_config_from_body(self.namespace, body, body["params"])
        baseline = baseline_config_from_body(self.namespace, body["against"]) if "against" in body else None
        for needed in filter(None, (config, baseline)):
            if needs_tracing(self.namespace, judgement_set, needed, refresh=body["refresh"]):
                return self.start_tracing(judgement_set, needed)
        result = self.evaluate(judgement_set, config, baseline, body)
        took_ms = 1000 * (time.perf_counter() - started_at)
        measurement = result.pop("measurement")
        evaluation = None
        if body["record"]:
            evaluation = evaluation_records.save_evaluation(
                self.namespace,
                judgement_set,
                measurement,
                body.get("split", ""),
                version_id=None if body["params"] else config.version_id,
                by=self.access.caller,
                took_ms=took_ms,
            )
        result |= {"evaluation": evaluation and evaluation.id, "took_ms": took_ms}
        return Response(EvaluationResultSerializer(result).data, status=201 if evaluation else 200)

    def start_tracing(self, judgement_set: JudgementSet, config: Config) -> Response:
        """Start a job that runs the queries."""
        job = tuning_jobs.submit_trace_job(self.namespace, judgement_set, config, by=self.access.caller)
        location = reverse("api-job", kwargs={"namespace": self.namespace.slug, "id": job.id})
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})

    def evaluate(
        self, judgement_set: JudgementSet, config: Config, baseline_config: Config | None, body: dict[str, Any]
    ) -> dict[str, Any]:
        """The evaluation of a configuration as JSON, and under `measurement` the per-query results behind it."""
        split = body.get("split", "")
        traced_set = traced_set_or_409(self.namespace, judgement_set, config)
        measurement, comparison = measure_config(cached_arrays(traced_set), config), None
        if baseline_config is not None:
            baseline = measure_config(
                cached_arrays(traced_set_or_409(self.namespace, judgement_set, baseline_config)), baseline_config
            )
            before, measurement = align_measurements(baseline, measurement)
            comparison = comparison_to_dict(
                before, measurement, compare_measurements(before, measurement, body["metric"], split), split
            )
        return {
            "measurement": measurement,
            "set": judgement_set.id,
            "split": split,
            "system": config.system.name,
            "params": dict(config.given),
            "metrics": evaluation_records.metrics_to_dict(measurement, split),
            "categories": [
                {"category": name, "metrics": evaluation_records.metrics_to_dict(measurement, split, name)}
                for name in evaluation_records.categories_in_split(measurement, split)
            ],
            "unjudged": measurement.unjudged_share(split),
            "against": comparison,
            "traced_at": traced_set.begun_at,
            "written_since": traced_sets.write_count(self.namespace) - traced_set.writes,
        }


class SensitivityView(NamespacedView):
    """Parameter sensitivity."""

    roles = {"GET": Role.READ}

    @extend_schema(
        operation_id="sensitivity", parameters=[SensitivityQuery], responses=SensitivitySerializer, tags=["tuning"]
    )
    def get(self, request: Request, namespace: str) -> Response:
        """Return the metric over the range of each parameter, all others unchanged."""
        query = SensitivityQuery.from_request(request)
        config, split = evaluation_config_from_body(self.namespace, query, {}), query.get("split", "")
        names = tunable_params(config)
        if "param" in query and query["param"] not in names:
            message = f"must be one of {', '.join(names)}; got {query['param']}"
            raise ValidationError({"param": [message]})
        names = [query["param"]] if "param" in query else names
        query_arrays = cached_arrays(
            traced_set_or_409(self.namespace, find_judgement_set(self.namespace, query.get("set", "")), config)
        )
        curves = list(sensitivity_curves(query_arrays, config, query["metric"], split, CURVE_SECONDS, names))
        result = {
            "metric": query["metric"],
            "current": measure_config(query_arrays, config).mean(query["metric"], split),
            "curves": curves,
            "left": names[len(curves) :],
            "needs_new_query": params_needing_new_query(config),
        }
        return Response(SensitivitySerializer(result).data)


def baseline_config_from_body(namespace: Namespace, body: dict[str, Any]) -> Config:
    """The baseline configuration; its validation errors are reported under `against`."""
    try:
        return evaluation_config_from_body(namespace, body, body["params"])
    except ValidationError as error:
        raise ValidationError({"against": error.detail}) from error


def needs_tracing(namespace: Namespace, judgement_set: JudgementSet, config: Config, *, refresh: bool) -> bool:
    """Whether the queries must be run first."""
    find = traced_sets.current_traced_set if refresh else traced_sets.latest_traced_set
    return find(namespace, judgement_set, config) is None


def comparison_to_dict(
    before: Measurement, after: Measurement, comparison: PairedComparison, split: str
) -> dict[str, Any]:
    """A paired comparison as JSON."""
    selected = after.query_mask(comparison.metric, split)
    mean, low, high = bootstrap(comparison.deltas[selected][:, None])[0]
    changed = comparison.deltas.nonzero()[0].tolist()
    largest = sorted(changed, key=lambda row: -abs(comparison.deltas[row]))[:MAX_CHANGED_QUERIES]
    values_before, values_after = before.per_query[comparison.metric], after.per_query[comparison.metric]
    changes = [
        {
            "query": after.arrays.queries[row].id,
            "text": after.arrays.queries[row].text,
            "before": float(values_before[row]),
            "after": float(values_after[row]),
        }
        for row in sorted(largest, key=lambda row: -comparison.deltas[row])
    ]
    return {
        "metric": comparison.metric,
        "metrics": evaluation_records.metrics_to_dict(before, split),
        "difference": mean,
        "low": low,
        "high": high,
        "p_value": comparison.p_value,
        "won": comparison.won,
        "lost": comparison.lost,
        "queries": int(selected.sum()),
        "moved": changes,
    }
