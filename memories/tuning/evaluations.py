"""A version of a profile measured on a judgement set, and the measurement kept."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.jobs.starting import start
from memories.jobs.work import Step, Work
from memories.models import Evaluation, Job, JudgementSet, Namespace, ProfileVersion
from memories.models.choices import JobKind
from memories.retrieval.query import Setting
from memories.retrieval.settings import of_version
from memories.tuning.arrays import Arrays
from memories.tuning.evaluating import Measured, measured, within
from memories.tuning.holding import fresh_arrays
from memories.tuning.tracing import Tell, deciding, silent


def begin(namespace: Namespace, version: ProfileVersion, judged: JudgementSet, part: str, *, by: str) -> Job:
    """Have a version measured, as a job."""
    params = {"version": str(version.id), "set": str(judged.id), "part": part}
    return start(namespace, JobKind.EVALUATE, params, by=by)


def evaluate(
    namespace: Namespace,
    version: ProfileVersion,
    judged: JudgementSet,
    part: str = "",
    *,
    by: str,
    tell: Tell = silent,
) -> Evaluation:
    """Measure a version on a set or a part of it, asking the set first where it was not asked; keep what came out."""
    began = time.perf_counter()
    [found] = measured_on(namespace, judged, [of_version(version)], tell)
    took_ms = 1000 * (time.perf_counter() - began)
    return kept(namespace, judged, found, part, version=version.id, by=by, took_ms=took_ms)


def kept(
    namespace: Namespace,
    judged: JudgementSet,
    found: Measured,
    part: str,
    *,
    version: UUID | None,
    by: str,
    took_ms: float,
) -> Evaluation:
    """Write down how good a setting was; a version is named where nothing was said on top of it."""
    evaluation = Evaluation(
        namespace=namespace,
        judgement_set_id=judged.id,
        profile_version_id=version,
        system=found.setting.system.name,
        params=dict(found.setting.given),
        part=part,
        metrics=metrics(found, part),
        per_query=per_query(found, part),
        took_ms=took_ms,
        created_by=by,
    )
    evaluation.save()
    return evaluation


def measured_on(
    namespace: Namespace, judged: JudgementSet, settings: Sequence[Setting], tell: Tell = silent
) -> list[Measured]:
    """Settings on a set as the namespace is now; those that have the same candidates on one asking of it."""
    held: dict[str, Arrays] = {}
    found = []
    for setting in settings:
        key = json.dumps([setting.system.name, deciding(setting)])
        if key not in held:
            held[key] = fresh_arrays(namespace, judged, setting, tell)
        found.append(measured(held[key], setting))
    return found


def metrics(found: Measured, part: str, category: str = "") -> dict[str, dict[str, float]]:
    """Each metric with its interval, and how many queries it counts."""
    return {
        name: {**one._asdict(), "queries": int(found.chosen(name, part, category).sum())}
        for name, one in found.told(part, category).items()
    }


def categories(found: Measured, part: str) -> list[str]:
    """The categories of a part's queries, the largest first."""
    there = within(found.arrays.queries, part, "")
    counts = Counter(one.category for one, mine in zip(found.arrays.queries, there, strict=True) if mine)
    return sorted(counts.keys() - {""}, key=lambda name: (-counts[name], name))


def per_query(found: Measured, part: str) -> dict[str, dict[str, float]]:
    """What each query has of the metrics that count it."""
    chosen = {name: found.chosen(name, part) for name in found.each}
    there = within(found.arrays.queries, part, "")
    return {
        str(query.id): {name: float(found.each[name][row]) for name in found.each if chosen[name][row]}
        for row, query in enumerate(found.arrays.queries)
        if there[row]
    }


def latest(namespace: Namespace, version_ids: list[UUID]) -> dict[UUID, Evaluation]:
    """The newest evaluation of each version that has one, without what each query had."""
    rows = Evaluation.objects.within(namespace).filter(profile_version_id__in=version_ids)
    newest = rows.order_by("profile_version_id", "-created_at").distinct("profile_version_id")
    return {one.profile_version_id: one for one in newest.defer("per_query") if one.profile_version_id}


def work_at(work: Work) -> None:
    """Measure what the job names; begun again after a crash, it keeps no second record."""
    wanted: dict[str, Any] = work.job.params
    if "evaluation" in work.facts:
        return
    version = ProfileVersion.objects.within(work.namespace).select_related("profile").get(id=wanted["version"])
    judged = JudgementSet.objects.within(work.namespace).get(id=wanted["set"])
    began = time.perf_counter()
    [found] = measured_on(work.namespace, judged, [of_version(version)], work.moved)
    took_ms = 1000 * (time.perf_counter() - began)
    with transaction.atomic():
        made = kept(work.namespace, judged, found, wanted["part"], version=version.id, by=work.job.by, took_ms=took_ms)
        work.facts["evaluation"] = str(made.id)
        work.moved(1, 1)


STEPS: dict[str, Step] = {"evaluate": work_at}
