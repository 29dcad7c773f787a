"""Evaluations: a profile version measured on a judgement set, and the stored result."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.contracts.work import Step, Work
from memories.models import Evaluation, JudgementSet, Namespace, ProfileVersion
from memories.retrieval.config import config_of_version
from memories.retrieval.query import Config
from memories.tuning.array_cache import ensure_arrays
from memories.tuning.arrays import Arrays
from memories.tuning.measurement import Measurement, measure_config, split_mask
from memories.tuning.traced_sets import ProgressCallback, candidate_params, no_progress


def evaluate_version(
    namespace: Namespace,
    version: ProfileVersion,
    judgement_set: JudgementSet,
    split: str = "",
    *,
    by: str,
    progress: ProgressCallback = no_progress,
) -> Evaluation:
    """Evaluate a version on a judgement set or one of its splits, tracing the set if needed, and store the result."""
    started = time.perf_counter()
    [measurement] = measure_configs(namespace, judgement_set, [config_of_version(version)], progress)
    took_ms = 1000 * (time.perf_counter() - started)
    return save_evaluation(namespace, judgement_set, measurement, split, version_id=version.id, by=by, took_ms=took_ms)


def save_evaluation(
    namespace: Namespace,
    judgement_set: JudgementSet,
    measurement: Measurement,
    split: str,
    *,
    version_id: UUID | None,
    by: str,
    took_ms: float,
) -> Evaluation:
    """Store a measurement; `version_id` is None if parameters were overridden."""
    evaluation = Evaluation(
        namespace=namespace,
        judgement_set_id=judgement_set.id,
        profile_version_id=version_id,
        system=measurement.config.system.name,
        params=dict(measurement.config.given),
        split=split,
        metrics=metrics_to_dict(measurement, split),
        per_query=per_query_metrics(measurement, split),
        took_ms=took_ms,
        created_by=by,
    )
    evaluation.save()
    return evaluation


def measure_configs(
    namespace: Namespace,
    judgement_set: JudgementSet,
    configs: Sequence[Config],
    progress: ProgressCallback = no_progress,
) -> list[Measurement]:
    """Measure configurations on the namespace as it is now; those with the same candidates share one traced set."""
    arrays_by_key: dict[str, Arrays] = {}
    measurements = []
    for config in configs:
        key = json.dumps([config.system.name, candidate_params(config)])
        if key not in arrays_by_key:
            arrays_by_key[key] = ensure_arrays(namespace, judgement_set, config, progress)
        measurements.append(measure_config(arrays_by_key[key], config))
    return measurements


def metrics_to_dict(measurement: Measurement, split: str, category: str = "") -> dict[str, dict[str, float]]:
    """Each metric with its interval and the number of queries it counts."""
    return {
        name: {**interval._asdict(), "queries": int(measurement.query_mask(name, split, category).sum())}
        for name, interval in measurement.intervals(split, category).items()
    }


def categories_in_split(measurement: Measurement, split: str) -> list[str]:
    """The categories of a split's queries, largest first."""
    mask = split_mask(measurement.arrays.queries, split, "")
    counts = Counter(
        query.category for query, included in zip(measurement.arrays.queries, mask, strict=True) if included
    )
    return sorted(counts.keys() - {""}, key=lambda name: (-counts[name], name))


def per_query_metrics(measurement: Measurement, split: str) -> dict[str, dict[str, float]]:
    """The metrics of each query, as far as they count it."""
    masks = {name: measurement.query_mask(name, split) for name in measurement.per_query}
    included = split_mask(measurement.arrays.queries, split, "")
    return {
        str(query.id): {
            name: float(measurement.per_query[name][row]) for name in measurement.per_query if masks[name][row]
        }
        for row, query in enumerate(measurement.arrays.queries)
        if included[row]
    }


def latest_evaluations(namespace: Namespace, version_ids: list[UUID]) -> dict[UUID, Evaluation]:
    """The newest evaluation of each version that has one, without its per-query metrics."""
    rows = Evaluation.objects.within(namespace).filter(profile_version_id__in=version_ids)
    newest_first = rows.order_by("profile_version_id", "-created_at").distinct("profile_version_id")
    return {
        evaluation.profile_version_id: evaluation
        for evaluation in newest_first.defer("per_query")
        if evaluation.profile_version_id
    }


def evaluation_step(work: Work) -> None:
    """Evaluate what the job names; idempotent after a crash."""
    params: dict[str, Any] = work.job.params
    if "evaluation" in work.step_result:
        return
    version = ProfileVersion.objects.within(work.namespace).select_related("profile").get(id=params["version"])
    judgement_set = JudgementSet.objects.within(work.namespace).get(id=params["set"])
    started = time.perf_counter()
    [measurement] = measure_configs(work.namespace, judgement_set, [config_of_version(version)], work.record_progress)
    took_ms = 1000 * (time.perf_counter() - started)
    with transaction.atomic():
        evaluation = save_evaluation(
            work.namespace,
            judgement_set,
            measurement,
            params["split"],
            version_id=version.id,
            by=work.job.by,
            took_ms=took_ms,
        )
        work.step_result["evaluation"] = str(evaluation.id)
        work.record_progress(1, 1)


STEPS: dict[str, Step] = {"evaluate": evaluation_step}
