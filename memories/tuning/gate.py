"""The gate before publishing: paired tests on judged queries, and a replay of recent traces."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.utils import timezone

from memories.contracts.work import Step, Work
from memories.models import Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind, Split
from memories.retrieval.config import config_of_version, serving_config
from memories.retrieval.query import Config
from memories.tuning import answer_overlap, current_grades
from memories.tuning.evaluation_records import measure_configs
from memories.tuning.measurement import (
    FALSE_ABSTENTION,
    FALSE_ANSWER,
    MAIN_METRIC,
    SIGNIFICANCE_LEVEL,
    Measurement,
    adjust_p_values,
    align_measurements,
    paired_comparison,
)
from memories.tuning.traced_sets import write_count
from scoring.dedup import normalize
from scoring.term import Mask

# Metric: whether higher is better.
TESTED_METRICS = {MAIN_METRIC: True, FALSE_ABSTENTION: False, FALSE_ANSWER: False}
TESTED_SPLITS = ("", Split.HOLDOUT)  # all queries, and those that nobody tuned on
CHECK_VALID_FOR = timedelta(days=1)  # if memories are written meanwhile
MAX_CHANGED_QUERIES = 10  # named in the result
MAX_LIVE_QUERIES = 50  # traces run again because their candidates would change
LIVE_SECONDS = 60.0  # time budget of those
PROGRESS_EVERY = 10  # traces between progress updates

MeasurementPairs = Sequence[tuple[Measurement, Measurement]]


def gate_judge_step(work: Work) -> None:
    """Compare the version with what serves on all judged queries, and on the holdout split."""
    sets = list(JudgementSet.objects.within(work.namespace).filter(queries__isnull=False).distinct().order_by("id"))
    # Taken first: judgements made while it runs make the check outdated.
    work.step_result.update(
        sets=[judgement_set.name for judgement_set in sets],
        fingerprint=judgements_fingerprint(work.namespace),
        writes=write_count(work.namespace),
    )
    pairs = [
        align_measurements(*measure_configs(work.namespace, judged, gate_configs(work), work.record_progress))
        for judged in sets
    ]
    work.step_result["tests"] = adjust_tests(
        [paired_test(pairs, metric, split) for split in TESTED_SPLITS for metric in TESTED_METRICS]
    )
    work.record_progress(1, 1)


def gate_replay_step(work: Work) -> None:
    """Replay recent traces under both configurations; run a sample again if their candidates would change."""
    before, after = gate_configs(work)
    traces = list(answer_overlap.recent_traces(work.namespace))
    changed = [trace for trace in traces if answer_overlap.needs_new_query(trace, before, after)]
    sample = changed[:: max(1, -(-len(changed) // MAX_LIVE_QUERIES))]
    replayable = [trace for trace in traces if not answer_overlap.needs_new_query(trace, before, after)]
    total, overlaps = len(replayable) + len(sample), list[answer_overlap.Overlap]()
    for trace in replayable:
        overlaps.append(answer_overlap.replay_overlap(trace, before, after))
        if len(overlaps) % PROGRESS_EVERY == 0:
            work.record_progress(len(overlaps), total)
    until, live = time.monotonic() + LIVE_SECONDS, 0
    for trace in sample:
        if time.monotonic() > until:
            break
        overlaps.append(answer_overlap.live_overlap(trace, before, after))
        live += 1
        work.record_progress(len(overlaps), total)
    work.step_result.update(
        answer_overlap.overlap_summary(overlaps, MAX_CHANGED_QUERIES),
        traces=len(traces),
        other_candidates=len(changed),
        live=live,
    )
    work.record_progress(total, total)


def gate_configs(work: Work) -> tuple[Config, Config]:
    """The configuration that served when the job was submitted, and the version's."""
    against, version = work.job.params["against"], work.job.params["version"]
    versions = ProfileVersion.objects.within(work.namespace).select_related("profile")
    before = serving_config(work.namespace, versions.get(id=against) if against else None)
    return before, config_of_version(versions.get(id=version))


def paired_test(pairs: MeasurementPairs, metric: str, split: str) -> dict[str, Any]:
    """A paired test of one metric over the queries of all sets."""
    deltas = [after.per_query[metric] - before.per_query[metric] for before, after in pairs]
    masks = first_occurrences(
        pairs, [before.query_mask(metric, split) & after.query_mask(metric, split) for before, after in pairs]
    )
    comparison = paired_comparison(metric, concatenate_or_empty(deltas), concatenate_or_empty(masks).astype(bool))
    before_values, after_values = (
        concatenate_or_empty(
            [measurement.per_query[metric][mask] for measurement, mask in zip(side, masks, strict=True)]
        )
        for side in unzip_pairs(pairs)
    )
    return {
        "metric": metric,
        "split": split,
        "queries": len(before_values),
        "before": float(before_values.mean()) if len(before_values) else None,
        "after": float(after_values.mean()) if len(after_values) else None,
        "difference": comparison.difference,
        "p_value": comparison.p_value,
        "won": comparison.won if TESTED_METRICS[metric] else comparison.lost,
        "lost": comparison.lost if TESTED_METRICS[metric] else comparison.won,
        "worse": comparison.difference < 0 if TESTED_METRICS[metric] else comparison.difference > 0,
    }


def first_occurrences(pairs: MeasurementPairs, masks: Sequence[Mask]) -> list[Mask]:
    """Masks that count each query once: one that an earlier set contains is dropped."""
    seen, first_masks = set[tuple[Any, ...]](), []
    for (before, _), mask in zip(pairs, masks, strict=True):
        unseen = mask.copy()
        for row in np.flatnonzero(mask).tolist():
            query = before.arrays.queries[row]
            key = normalize(query.text), query.user, query.as_of
            unseen[row] = key not in seen
            seen.add(key)
        first_masks.append(unseen)
    return first_masks


def unzip_pairs(pairs: MeasurementPairs) -> tuple[list[Measurement], list[Measurement]]:
    """The measurements before, and those after."""
    return [before for before, _ in pairs], [after for _, after in pairs]


def concatenate_or_empty(parts: Sequence[Any]) -> Any:
    """Concatenated arrays; an empty one if there are none."""
    return np.concatenate(parts) if parts else np.zeros(0)


def adjust_tests(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tests with Holm-corrected p-values, and whether each is a significant loss."""
    p_values = adjust_p_values([test["p_value"] for test in tests], [test["won"] + test["lost"] for test in tests])
    return [
        {**test, "corrected": p_value, "loss": test["worse"] and p_value < SIGNIFICANCE_LEVEL}
        for test, p_value in zip(tests, p_values, strict=True)
    ]


def judgements_fingerprint(namespace: Namespace) -> str:
    """Changes with the queries and judgements of any set."""
    return current_grades.judgement_sets_fingerprint(
        namespace, list(JudgementSet.objects.within(namespace).values_list("id", flat=True))
    )


def latest_gate_job(namespace: Namespace, version_id: UUID) -> Job | None:
    """The newest check of a version, finished or not."""
    jobs = Job.objects.within(namespace).filter(kind=JobKind.GATE, params__version=str(version_id))
    return jobs.order_by("-created_at", "id").first()


def serving_version_id(namespace: Namespace) -> UUID | None:
    """The profile version that serves; None for the built-in default."""
    serving = namespace.serving
    return serving.profile_version_id if serving else None


def gate_losses(job: Job) -> list[dict[str, Any]]:
    """The significant losses of a check."""
    return [test for test in job.result.get("judge", {}).get("tests", ()) if test["loss"]]


def outdated_reason(job: Job) -> str:
    """Why a check is outdated, or an empty string."""
    namespace, checked = job.namespace, job.result.get("judge", {})
    if checked.get("fingerprint") != judgements_fingerprint(namespace):
        return "queries or judgements have changed since"
    written = write_count(namespace) - checked["writes"]
    if written and job.finished_at and timezone.now() - job.finished_at > CHECK_VALID_FOR:
        return f"that was more than a day ago, and memories were written {written} time{'s' * (written > 1)} since"
    return ""


STEPS: dict[str, Step] = {"judge": gate_judge_step, "replay": gate_replay_step}
